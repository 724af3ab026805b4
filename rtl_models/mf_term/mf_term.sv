// One multiplication-free (MF) term of two words on one grid.
//
//   Abs = 0   y = sign(w)*x + sign(x)*w           = sign(x)*sign(w)*(|x| + |w|)
//   Abs = 1   y = sign(w)*|x| + sign(x)*|w|
//
// The sign of the code 0 is 0, or +1 with SignZero = 1 (then it is the sign bit alone).
// Circuit With s = x + w (Abs = 1), or x + w where the signs agree and x - w where they differ
//         (Abs = 0), y is s or -s: Abs = 1 negates where the signs differ, Abs = 0 where w < 0.
//         With SignZero = 0 a code 0 clears y. To subtract is an exclusive-or with a carry-in: two
//         adders, no multiplication.
// Words   x_i: signed, XBits bits; w_i: signed, WBits bits; y_o: signed, YBits bits, exact.
// Latency 0 (combinational).
// Model   rtl_models/mf_term/model.py; parameters: rtl_models/mf_term/parameters.py, which derives
//         YBits.

module mf_term #(
  parameter int XBits    = 8,
  parameter int WBits    = 8,
  parameter int Abs      = 0,
  parameter int SignZero = 0,
  parameter int YBits    = 10
) (
  input  logic signed [XBits-1:0] x_i,
  input  logic signed [WBits-1:0] w_i,
  output logic signed [YBits-1:0] y_o
);

  if (XBits < 2 || WBits < 2 || YBits <= XBits || YBits <= WBits) begin : gen_bad_word
    $error("XBits and WBits must be at least 2, and YBits more than both");
  end

  logic                    x_negative;
  logic                    w_negative;
  logic                    differ;
  logic                    subtract;
  logic                    negate;
  logic                    keep;
  logic signed [YBits-1:0] left;
  logic signed [YBits-1:0] right;
  logic signed [YBits-1:0] total;
  logic signed [YBits-1:0] flipped;
  logic signed [YBits-1:0] result;
  logic                    unused_total;
  logic                    unused_result;

  assign x_negative = x_i[XBits-1];
  assign w_negative = w_i[WBits-1];
  assign differ     = x_negative ^ w_negative;
  assign subtract   = (Abs != 0) ? 1'b0 : differ;
  assign negate     = (Abs != 0) ? differ : w_negative;
  assign keep       = (SignZero != 0) ? 1'b1 : ((|x_i) & (|w_i));
  assign left       = YBits'(x_i);
  assign right      = YBits'(w_i) ^ {YBits{subtract}};
  assign flipped    = total ^ {YBits{negate}};

  // Both operands carry the carry-in below their lowest bit: 1 + 1 where a word is subtracted.
  assign {total, unused_total}   = {left, subtract} + {right, subtract};
  assign {result, unused_result} = {flipped, negate} + {{YBits{1'b0}}, negate};

  assign y_o = result & {YBits{keep}};

endmodule
