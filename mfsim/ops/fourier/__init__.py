"""Fixed-point cosine and Fourier transforms, and filterbanks made of them."""
