/**
 * A stand-in for model providers: it speaks their wire formats over a real socket, follows scripts instead of a model, and
 * goes wrong in every way that it is asked to. It stands on its own, for demos, tests and other people's CI.
 */
export type { SimulatorLogLine } from "./handle-request.ts";
export type { RequestLogLimits, SimulatedRequest, WaitOptions } from "./request-log.ts";
export { type Simulator, type SimulatorOptions, startSimulator } from "./start-simulator.ts";
