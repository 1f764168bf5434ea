import type { Caller } from './caller.ts'
import type { InstallState, Reading } from './state.ts'
import { StepFailure } from './step-failure.ts'

/** Writes the install lock: from then on the installation is closed. */
export class InstallLock {
  readonly #state: InstallState

  constructor(state: InstallState) {
    this.#state = state
  }

  /**
   * @returns when it was locked, ISO 8601
   * @throws StepFailure when somebody else changed the state at the same time and it is open
   */
  async write(
    seen: Reading,
    { caller, sessionId }: { readonly caller: Caller; readonly sessionId: string },
  ): Promise<string> {
    const change = { by: 'install', traceId: caller.traceId, sessionId }
    if (seen.name !== 'installed' && !(await this.#state.change(true, seen, change))) {
      const { name } = await this.#state.read()
      if (name !== 'installed') throw new StepFailure('failure.lock')
    }
    return this.lockedAt()
  }

  /** When the product was locked; empty when it is not known. */
  async lockedAt(): Promise<string> {
    const row = await this.#state.row()
    return row?.installed === true ? (row.changedAt?.toISOString() ?? '') : ''
  }
}
