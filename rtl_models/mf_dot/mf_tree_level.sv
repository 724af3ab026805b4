// One registered level of an adder tree: neighbours are added, a last odd word is passed on.
//
//   y[i] = x[2*i] + x[2*i + 1],   or x[2*i] where there is no x[2*i + 1]
//
// Words   x_i: N signed words of Bits bits; y_o: (N + 1)/2 signed words of Bits + 1 bits, exact.
//         Word i lies in bits [i*B +: B] of its port, B the bits of one word.
// Latency 1 clock cycle, one set of words each cycle.
// Model   rtl_models/mf_dot/model.py

module mf_tree_level #(
  parameter int N    = 2,
  parameter int Bits = 8
) (
  input  logic                          clk_i,
  input  logic [N*Bits-1:0]             x_i,
  output logic [((N+1)/2)*(Bits+1)-1:0] y_o
);

  logic [((N+1)/2)*(Bits+1)-1:0] y_d;
  logic [((N+1)/2)*(Bits+1)-1:0] y_q;

  for (genvar i = 0; i < (N + 1) / 2; i++) begin : gen_word
    logic signed [Bits-1:0] left;

    assign left = x_i[2*i*Bits +: Bits];

    if (2 * i + 1 < N) begin : gen_sum
      logic signed [Bits-1:0] right;

      assign right                      = x_i[(2*i+1)*Bits +: Bits];
      assign y_d[i*(Bits+1) +: Bits+1] = (Bits + 1)'(left) + (Bits + 1)'(right);
    end else begin : gen_pass
      assign y_d[i*(Bits+1) +: Bits+1] = (Bits + 1)'(left);
    end
  end

  always_ff @(posedge clk_i) begin
    y_q <= y_d;
  end

  assign y_o = y_q;

endmodule
