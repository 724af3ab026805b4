"""Integer programs as `integer.onnx`, written and read."""
