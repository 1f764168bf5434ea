import { exitCodes } from './exit-codes.ts'

/** True once the program itself ends the process. A process ends once, so this belongs to the module. */
let isExpected = false

/** From now on the process may end. */
export function expectEnd(): void {
  isExpected = true
}

/** Ends the process on behalf of the program. Other code that calls `process.exit()` has crashed the process. */
export function endProcess(exitCode?: number): never {
  expectEnd()
  process.exit(exitCode)
}

/**
 * Calls the listener when the process ends before the program expects it: code of a plugin or a library called
 * `process.exit()`, or nothing was left that could happen. The exit code is then 1. The listener must be synchronous; its
 * stack contains the frames of the code that ended the process.
 */
export function onUnexpectedEnd(listener: (exitCode: number) => void): void {
  process.on('exit', (exitCode) => {
    if (isExpected) return
    process.exitCode = exitCodes.failed
    listener(exitCode)
  })
}
