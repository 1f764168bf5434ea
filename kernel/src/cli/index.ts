/**
 * Entry point for programs that run the command line of `plinth`, and for `@plinth/dev`, which adds commands to it.
 *
 * @module
 */

export { withAuthoringValues } from '../configuration/authoring-values.ts'
export { kernelError } from '../errors/kernel-errors.ts'
export { kernelPlugin, nodeRange } from '../kernel-plugin.ts'
export type { DevelopmentCommands } from './dev-package.ts'
export {
  compareManifests,
  createManifest,
  isWidening,
  lockFileName,
  lockFileOf,
  type Manifest,
  readLockFile,
  writeLockFile,
} from './manifest.ts'
export { startForCommand } from './partial-start.ts'
export {
  exitCodes,
  keepProcessAlive,
  markProcessEndExpected,
  onUnexpectedProcessEnd,
  runInterruptible,
} from './process-end.ts'
export { addPluginToSource } from './product-file.ts'
export { removeData } from './remove-command.ts'
export { runProcess } from './run-process.ts'
export type { CommandScope, ProgramEnvironment } from './scope.ts'
