// Walsh-Hadamard transform of N words, pipelined, without a multiplication.
//
//   y = H x,   H[i][j] = (-1)**popcount(i & j)      natural order
//
// With Sequency = 1 the rows are sorted by their number of sign changes, which is wiring alone.
// Stages log2(N) stages of N/2 butterflies on words 1, 2, 4, .. N/2 apart; a word grows by one bit
//        in each, so that nothing overflows; a register behind each stage.
// Adders N*log2(N) additions and subtractions.
// Words  x_i: N signed words of XBits bits; y_o: N signed words of YBits = XBits + Stages bits.
//        Word i lies in bits [i*B +: B] of its port, B the bits of one word.
// Latency Stages clock cycles, one transform each cycle; valid_o is valid_i, as late as y_o.
//        Reset clears valid_o; data registers have no reset.
// Model  rtl_models/wht/model.py; parameters: rtl_models/wht/parameters.py, which derives
//        Stages and YBits.

module wht #(
  parameter int N        = 8,
  parameter int XBits    = 8,
  parameter int Sequency = 0,
  parameter int Stages   = 3,
  parameter int YBits    = 11
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               valid_i,
  input  logic [N*XBits-1:0] x_i,
  output logic               valid_o,
  output logic [N*YBits-1:0] y_o
);

  if (Stages < 1 || N != (1 << Stages)) begin : gen_bad_length
    $error("N must be 2**Stages, and Stages at least 1");
  end
  if (XBits < 1 || YBits != XBits + Stages) begin : gen_bad_word
    $error("YBits must be XBits + Stages, and XBits at least 1");
  end

  // Natural index of row `row` in sequency order: the bit-reversed Gray code.
  function automatic int natural_row(int row);
    natural_row = 0;
    for (int bit_index = 0; bit_index < Stages; bit_index++) begin
      natural_row = (natural_row << 1) | (((row ^ (row >> 1)) >> bit_index) & 1);
    end
  endfunction

  valid_delay #(
    .Cycles(Stages)
  ) u_valid (
    .clk_i  (clk_i),
    .rst_ni (rst_ni),
    .valid_i(valid_i),
    .valid_o(valid_o)
  );

  for (genvar s = 0; s < Stages; s++) begin : gen_stage
    logic [N*(XBits+s)-1:0]   x;
    logic [N*(XBits+s+1)-1:0] y;

    if (s == 0) begin : gen_first
      assign x = x_i;
    end else begin : gen_next
      assign x = gen_stage[s-1].y;
    end

    wht_stage #(
      .N   (N),
      .Half(1 << s),
      .Bits(XBits + s)
    ) u_stage (
      .clk_i(clk_i),
      .x_i  (x),
      .y_o  (y)
    );
  end

  for (genvar i = 0; i < N; i++) begin : gen_row
    localparam int Row = (Sequency != 0) ? natural_row(i) : i;
    assign y_o[i*YBits +: YBits] = gen_stage[Stages-1].y[Row*YBits +: YBits];
  end

endmodule
