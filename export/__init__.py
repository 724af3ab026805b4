"""Write networks as ONNX files, run them in ONNX Runtime, and check them against their torch models."""
