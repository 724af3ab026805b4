// One butterfly of a Walsh-Hadamard transform.
//
//   sum_o  = a_i + b_i
//   diff_o = a_i - b_i
//
// Words   a_i, b_i: signed, Bits bits; sum_o, diff_o: signed, Bits + 1 bits, exact.
// Latency 0 (combinational).
// Model   rtl_models/wht/model.py

module wht_butterfly #(
  parameter int Bits = 8
) (
  input  logic signed [Bits-1:0] a_i,
  input  logic signed [Bits-1:0] b_i,
  output logic signed [Bits:0]   sum_o,
  output logic signed [Bits:0]   diff_o
);

  assign sum_o  = (Bits + 1)'(a_i) + (Bits + 1)'(b_i);
  assign diff_o = (Bits + 1)'(a_i) - (Bits + 1)'(b_i);

endmodule
