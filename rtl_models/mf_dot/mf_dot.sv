// Dot product of N multiplication-free (MF) terms on one grid, pipelined.
//
//   y = sum_i term(x[i], w[i])                      term: mf_term.sv
//
// Stages  N terms side by side and a register; then Levels = ceil(log2(N)) levels of an adder tree,
//         each with a register. A word grows by one bit in each level; the last is cut to YBits,
//         the word of the sum's exact range.
// Adders  3*N - 1: two in each term, N - 1 in the tree. No multiplication.
// Words   x_i: N signed words of XBits bits; w_i: N signed words of WBits bits; y_o: signed, YBits
//         bits, exact. Word i lies in bits [i*B +: B] of its port, B the bits of one word.
// Latency 1 + Levels clock cycles, one dot product each cycle; valid_o is valid_i, as late as y_o.
//         Reset clears valid_o; data registers have no reset.
// Model   rtl_models/mf_dot/model.py; parameters: rtl_models/mf_dot/parameters.py, which derives
//         TermBits, Levels and YBits.

module mf_dot #(
  parameter int N        = 4,
  parameter int XBits    = 8,
  parameter int WBits    = 8,
  parameter int Abs      = 0,
  parameter int SignZero = 0,
  parameter int TermBits = 10,
  parameter int Levels   = 2,
  parameter int YBits    = 12
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    valid_i,
  input  logic [N*XBits-1:0]      x_i,
  input  logic [N*WBits-1:0]      w_i,
  output logic                    valid_o,
  output logic signed [YBits-1:0] y_o
);

  if (Levels < 1 || N > (1 << Levels) || N <= (1 << (Levels - 1))) begin : gen_bad_length
    $error("Levels must be ceil(log2(N)), and N at least 2");
  end
  if (YBits > TermBits + Levels) begin : gen_bad_word
    $error("YBits must be at most TermBits + Levels");
  end

  logic [N*TermBits-1:0] term_d;
  logic [N*TermBits-1:0] term_q;

  for (genvar i = 0; i < N; i++) begin : gen_term
    mf_term #(
      .XBits   (XBits),
      .WBits   (WBits),
      .Abs     (Abs),
      .SignZero(SignZero),
      .YBits   (TermBits)
    ) u_term (
      .x_i(x_i[i*XBits +: XBits]),
      .w_i(w_i[i*WBits +: WBits]),
      .y_o(term_d[i*TermBits +: TermBits])
    );
  end

  always_ff @(posedge clk_i) begin
    term_q <= term_d;
  end

  for (genvar l = 0; l < Levels; l++) begin : gen_level
    localparam int Words = (N + (1 << l) - 1) >> l;
    localparam int Bits  = TermBits + l;

    logic [Words*Bits-1:0]             x;
    logic [((Words+1)/2)*(Bits+1)-1:0] y;

    if (l == 0) begin : gen_first
      assign x = term_q;
    end else begin : gen_next
      assign x = gen_level[l-1].y;
    end

    mf_tree_level #(
      .N   (Words),
      .Bits(Bits)
    ) u_level (
      .clk_i(clk_i),
      .x_i  (x),
      .y_o  (y)
    );
  end

  assign y_o = gen_level[Levels-1].y[YBits-1:0];

  if (YBits < TermBits + Levels) begin : gen_cut
    logic unused_copies_of_the_sign;

    assign unused_copies_of_the_sign = ^gen_level[Levels-1].y[TermBits+Levels-1:YBits];
  end

  valid_delay #(
    .Cycles(1 + Levels)
  ) u_valid (
    .clk_i  (clk_i),
    .rst_ni (rst_ni),
    .valid_i(valid_i),
    .valid_o(valid_o)
  );

endmodule
