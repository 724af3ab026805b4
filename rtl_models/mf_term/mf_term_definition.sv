// The definition of a multiplication-free (MF) term, word for word, beside the circuit: for proofs.
//
//   Abs = 0   y = sign(w)*x + sign(x)*w
//   Abs = 1   y = sign(w)*|x| + sign(x)*|w|
//
// sign(0) is SignZero. differ_o is 1 for operands for which mf_term.sv gives another word than the
// definition; the proof is that there are none.
// Words   as in mf_term.sv.
// Latency 0 (combinational).
// Model   mfsim/ops/products.py

module mf_term_definition #(
  parameter int XBits    = 8,
  parameter int WBits    = 8,
  parameter int Abs      = 0,
  parameter int SignZero = 0,
  parameter int YBits    = 10
) (
  input  logic signed [XBits-1:0] x_i,
  input  logic signed [WBits-1:0] w_i,
  output logic                    differ_o
);

  // Two bits more than any result, so that nothing here can overflow.
  localparam int Wide = YBits + 2;

  logic signed [Wide-1:0]  x;
  logic signed [Wide-1:0]  w;
  logic signed [Wide-1:0]  x_value;
  logic signed [Wide-1:0]  w_value;
  logic signed [Wide-1:0]  x_part;
  logic signed [Wide-1:0]  w_part;
  logic signed [Wide-1:0]  defined;
  logic signed [YBits-1:0] made;

  assign x = Wide'(x_i);
  assign w = Wide'(w_i);

  always_comb begin
    x_value = x;
    w_value = w;
    if (Abs != 0 && x < 0) x_value = -x;
    if (Abs != 0 && w < 0) w_value = -w;

    x_part = x_value;
    if (w < 0) x_part = -x_value;
    if (w == 0 && SignZero == 0) x_part = '0;

    w_part = w_value;
    if (x < 0) w_part = -w_value;
    if (x == 0 && SignZero == 0) w_part = '0;

    defined = x_part + w_part;
  end

  mf_term #(
    .XBits   (XBits),
    .WBits   (WBits),
    .Abs     (Abs),
    .SignZero(SignZero),
    .YBits   (YBits)
  ) u_mf_term (
    .x_i(x_i),
    .w_i(w_i),
    .y_o(made)
  );

  assign differ_o = Wide'(made) != defined;

endmodule
