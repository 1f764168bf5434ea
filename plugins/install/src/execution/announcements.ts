import type { EventRef } from '@plinth/events'
import { errorReason } from '@plinth/kernel'
import { InstallCompletedEvent, InstallExecutionFailedEvent, type RecordView } from '../contract.ts'
import type { Session } from '../records/sessions.ts'
import type { InstallServices } from '../requires.ts'

type AnnouncementDependencies = Pick<InstallServices, 'events' | 'clock' | 'log'>

interface About {
  readonly session: Session
  readonly logCount: number
  readonly message: string
}

/**
 * Publishes the end of an installation. If publishing fails, the result of the installation stays the same (requirement
 * I-208).
 */
export class InstallEvents {
  readonly #parts: AnnouncementDependencies

  constructor(parts: AnnouncementDependencies) {
    this.#parts = parts
  }

  completed({ session, logCount, message, restartSuggested }: About & { readonly restartSuggested: boolean }) {
    const payload = { sessionId: session.id, completedAt: this.#now(), restartSuggested, logCount, message }
    return this.#tell(InstallCompletedEvent, payload)
  }

  failed({ session, logCount, message, step }: About & { readonly step: RecordView }) {
    return this.#tell(InstallExecutionFailedEvent, {
      sessionId: session.id,
      failedAt: this.#now(),
      logCount,
      message,
      failedStepCode: step.stepCode,
      stepMessage: step.message,
      failedStepCount: 1,
    })
  }

  #now(): string {
    return new Date(this.#parts.clock.now()).toISOString()
  }

  /** Before the first migration there is no outbox table. Then only subscribers in this process are notified. */
  async #tell<T>(ref: EventRef<T>, payload: T): Promise<void> {
    const { events, log } = this.#parts
    try {
      await events.publish(ref, payload)
    } catch (error) {
      log.warn({ reason: errorReason(error) }, 'only this process is notified that the installation has ended')
      this.#tellHere(ref, payload)
    }
  }

  #tellHere<T>(ref: EventRef<T>, payload: T): void {
    try {
      this.#parts.events.emit(ref, payload)
    } catch (error) {
      this.#parts.log.warn(
        { reason: errorReason(error) },
        'subscribers could not be notified that the installation has ended',
      )
    }
  }
}
