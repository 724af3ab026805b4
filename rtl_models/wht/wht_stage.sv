// One registered stage of a Walsh-Hadamard transform: N/2 butterflies on words that lie Half apart.
//
//   y[i]        = x[i] + x[i + Half]
//   y[i + Half] = x[i] - x[i + Half]     for every i whose bit log2(Half) is 0
//
// Words   x_i: N signed words of Bits bits, y_o: N signed words of Bits + 1 bits, exact.
//         Word i lies in bits [i*B +: B] of its port, B the bits of one word.
// Latency 1 clock cycle, one transform each cycle.
// Model   rtl_models/wht/model.py

module wht_stage #(
  parameter int N    = 8,
  parameter int Half = 1,
  parameter int Bits = 8
) (
  input  logic                  clk_i,
  input  logic [N*Bits-1:0]     x_i,
  output logic [N*(Bits+1)-1:0] y_o
);

  logic [N*(Bits+1)-1:0] y_d;
  logic [N*(Bits+1)-1:0] y_q;

  for (genvar i = 0; i < N; i++) begin : gen_word
    if ((i & Half) == 0) begin : gen_butterfly
      wht_butterfly #(
        .Bits(Bits)
      ) u_butterfly (
        .a_i   (x_i[i*Bits +: Bits]),
        .b_i   (x_i[(i+Half)*Bits +: Bits]),
        .sum_o (y_d[i*(Bits+1) +: Bits+1]),
        .diff_o(y_d[(i+Half)*(Bits+1) +: Bits+1])
      );
    end
  end

  always_ff @(posedge clk_i) begin
    y_q <= y_d;
  end

  assign y_o = y_q;

endmodule
