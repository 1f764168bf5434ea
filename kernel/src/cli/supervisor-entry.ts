/**
 * Entry point for programs that supervise the process of a product. It loads only what a supervisor needs, so that the
 * supervisor needs little memory.
 *
 * @module
 */

export { exitCodes } from './process-end.ts'
export { findOptionValue, findSetValue, resolveProductFile } from './product-file.ts'
export { closeInspectorForChild } from './supervisor.ts'
export {
  type BeginMessage,
  type FailedStartReport,
  type FailureMessage,
  type ModuleMessage,
  type PackageMessage,
  type PreloadMessage,
  productWordsOf,
  type ReadyMessage,
  type StartPermitMessage,
  type StopMessage,
  withSupervisorMode,
} from './supervisor-link.ts'
