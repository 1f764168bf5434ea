import type { Events } from '@plinth/events'
import { type Clock, type Logger, reasonOf } from '@plinth/kernel'
import { InstallCompletedEvent, InstallExecutionFailedEvent, type RecordView } from './contract.ts'
import type { Session } from './sessions.ts'

export interface AnnouncementParts {
  readonly events: Events
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

interface About {
  readonly session: Session
  readonly logCount: number
  readonly message: string
}

/** Tells the rest of the product how an installation ended. What becomes of the news never changes how it ended (I-208). */
export class Announcements {
  readonly #parts: AnnouncementParts

  constructor(parts: AnnouncementParts) {
    this.#parts = parts
  }

  completed({ session, logCount, message, restartSuggested }: About & { readonly restartSuggested: boolean }) {
    return this.#quietly(async ({ events }, now) => {
      const payload = { sessionId: session.id, completedAt: now, restartSuggested, logCount, message }
      await events.publish(InstallCompletedEvent, payload)
    })
  }

  failed({ session, logCount, message, step }: About & { readonly step: RecordView }) {
    return this.#quietly(async ({ events }, now) => {
      const about = { failedStepCode: step.stepCode, stepMessage: step.message, failedStepCount: 1 }
      await events.publish(InstallExecutionFailedEvent, {
        ...{ sessionId: session.id, failedAt: now, logCount, message },
        ...about,
      })
    })
  }

  async #quietly(publish: (parts: AnnouncementParts, now: string) => Promise<void>): Promise<void> {
    try {
      await publish(this.#parts, new Date(this.#parts.clock.now()).toISOString())
    } catch (error) {
      this.#parts.log.warn({ reason: reasonOf(error) }, 'the end of the installation could not be announced')
    }
  }
}
