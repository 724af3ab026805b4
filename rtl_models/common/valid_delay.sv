// Valid flag that accompanies a pipeline.
//
//   valid_o(t) = valid_i(t - Cycles), 0 after reset
//
// Latency Cycles clock cycles. Reset is asynchronous and active low.
// Model   rtl_models/pipeline.py

module valid_delay #(
  parameter int Cycles = 1
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic valid_i,
  output logic valid_o
);

  logic [Cycles-1:0] valid_d;
  logic [Cycles-1:0] valid_q;

  always_comb begin
    valid_d    = valid_q << 1;
    valid_d[0] = valid_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
    end else begin
      valid_q <= valid_d;
    end
  end

  assign valid_o = valid_q[Cycles-1];

endmodule
