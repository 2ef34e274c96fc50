/**
 * A stand-in for model providers: it speaks their wire formats over a real socket, follows scripts instead of running a
 * model, and injects faults on request. It depends on nothing else in this project, so that other projects can use it.
 */
export type { RequestLogLimits, SimulatedRequest, WaitOptions } from "./request-log.ts";
export type { SimulatorLogLine } from "./simulator-state.ts";
export { type Simulator, type SimulatorOptions, startSimulator } from "./start-simulator.ts";
