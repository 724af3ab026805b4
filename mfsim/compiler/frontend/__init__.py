"""ONNX files as the compiler sees them: read, checked, brought into one form."""
