import { createHash } from 'node:crypto'
import { type ReturnedTrial, SettingsTrial } from '@plinth/kernel'
import type { Caller } from '../entry/caller.ts'
import { StepFailure } from '../execution/step-failure.ts'
import type { Parts } from '../parts.ts'
import { publicReason } from '../public-reason.ts'
import { fieldOfFailure } from './connection-probes.ts'
import type { PlannedSetting } from './settings-plan.ts'

type ConnectionTrialParts = Pick<Parts, 'root' | 'config'>

/** A connection that was written and that the product has yet to start on (decision E8). */
export class ConnectionTrial {
  readonly #trial: SettingsTrial
  readonly #config: ConnectionTrialParts['config']

  constructor({ root, config }: ConnectionTrialParts) {
    this.#trial = new SettingsTrial(root)
    this.#config = config
  }

  /** Call it before the file is written. */
  begin(configFile: string, settings: readonly PlannedSetting[]): Promise<void> {
    return this.#trial.begin(configFile, {
      patienceMs: this.#config.get('platform.install.connection-trial'),
      about: fingerprintOf(settings),
    })
  }

  /** The product runs on the connection. */
  end(): Promise<void> {
    return this.#trial.end()
  }

  /**
   * Tells once that the product came back because it did not start on these settings.
   *
   * @throws StepFailure
   */
  async assertNotReturned(settings: readonly PlannedSetting[], { isProven }: Pick<Caller, 'isProven'>): Promise<void> {
    const returned = await this.#trial.takeReturned()
    if (returned !== undefined && returned.about === fingerprintOf(settings)) throw failureOf(returned, isProven)
  }
}

/** Without a token nobody learns what was found in the network. */
function failureOf({ code, reason }: ReturnedTrial, isProven: boolean): StepFailure {
  if (!isProven) return new StepFailure('failure.connection-returned-unproven', {}, undefined, 'database.type')
  const params = { reason: publicReason(new Error(reason)) }
  return new StepFailure('failure.connection-returned', params, undefined, fieldOfFailure(code))
}

/** Without the type: that of a MariaDB is known only once it has been asked. */
function fingerprintOf(settings: readonly PlannedSetting[]): string {
  const isMeant = ({ connection, key }: PlannedSetting) => connection !== undefined && key !== 'platform.database.type'
  const connections = settings.filter(isMeant).map(({ key, value }) => [key, value])
  return createHash('sha256').update(JSON.stringify(connections)).digest('hex')
}
