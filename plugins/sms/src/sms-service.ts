import { createRequire } from 'node:module'
import {
  bilingual,
  type ChannelCheck,
  ChannelError,
  type Clock,
  type DeliveryOutcome,
  errorReason,
  fitTextToColumn,
  type Logger,
  type NeededConfigKeys,
  omitUndefined,
  type ProviderReport,
} from '@plinth/kernel'
import type * as phoneNumbers from 'libphonenumber-js/min'
import type { CompanyNames } from './config.ts'
import type { SentSms, Sms, SmsDriver, SmsMessage, SmsRequest } from './contract.ts'

const load = createRequire(import.meta.url)
let library: typeof phoneNumbers | undefined

/** Loads the phone number library for the first number, because loading the rules of all countries takes 65 ms. */
function phoneLibrary(): typeof phoneNumbers {
  library ??= load('libphonenumber-js/min') as typeof phoneNumbers
  return library
}

/**
 * Returns a number in E.164 format: `+447911123456` for `0044 7911 123456`, `tel:+447911123456` and `+44 (0)7911/123456`
 * and, with the country code 44, for `07911 123456`. Undefined for an impossible number, and for one with an extension.
 *
 * @param countryCode country code of numbers that have none; if empty, such numbers are invalid
 */
function internationalNumber(text: string, countryCode: string): string | undefined {
  // Each country has its own prefix for international calls. `00` is the most usual one, so it is treated like `+`.
  const bare = text.trim().replace(/^tel:/i, '').replace(/^00/, '+')
  const options = { extract: false, ...(countryCode === '' ? {} : { defaultCallingCode: countryCode }) }
  const number = phoneLibrary().parsePhoneNumberFromString(bare, options)
  return number?.isPossible() && number.ext === undefined ? number.number : undefined
}

interface SmsDependencies {
  readonly drivers: ReadonlyMap<string, SmsDriver>
  /** Returns the code of the configured driver; empty if none is configured. */
  readonly driver: () => string
  readonly countryCode: () => string
  readonly templates: () => CompanyNames
  readonly signNames: () => CompanyNames
  readonly clock: Clock
  readonly log: Logger
}

/** Maximum length of `reference`. Tencent Cloud allows 512 bytes, Aliyun 256. */
const maxReferenceLength = 64

export class SmsService implements Sms {
  readonly #parts: SmsDependencies

  constructor(parts: SmsDependencies) {
    this.#parts = parts
  }

  get isReady(): boolean {
    const { drivers, driver } = this.#parts
    return drivers.get(driver())?.isConfigured() ?? false
  }

  get drivers(): readonly string[] {
    return [...this.#parts.drivers].filter(([, driver]) => driver.isConfigured()).map(([code]) => code)
  }

  get reportingDrivers(): readonly string[] {
    return this.drivers.filter((code) => this.#parts.drivers.get(code)?.hasReceipts?.() === true)
  }

  needs(): NeededConfigKeys {
    const { drivers, driver } = this.#parts
    const own = drivers.get(driver())?.needs?.() ?? { keys: [], missingKeys: [] }
    const missing = drivers.has(driver()) ? [] : ['platform.sms.driver']
    return { keys: ['platform.sms.driver', ...own.keys], missingKeys: [...missing, ...own.missingKeys] }
  }

  async verify(signal: AbortSignal, requested?: string): Promise<readonly ChannelCheck[]> {
    const { drivers, driver } = this.#parts
    const chosen = drivers.get(requested ?? driver())
    if (!chosen?.isConfigured()) {
      const reason = bilingual(
        'No SMS driver is configured: choose one in platform.sms.driver and fill in its keys.',
        '尚未配置短信驱动：请在 platform.sms.driver 中选择驱动并填写其配置项。',
      )
      throw new ChannelError('configuration', reason)
    }
    return (await chosen.verify?.(signal)) ?? ['configuration']
  }

  numberOf(to: string): string | undefined {
    return internationalNumber(to, this.#parts.countryCode())
  }

  async find({ to, ...sent }: SentSms, signal: AbortSignal): Promise<ProviderReport | undefined> {
    const { drivers, log } = this.#parts
    const number = this.numberOf(to)
    if (number === undefined) return undefined
    for (const code of this.drivers) {
      try {
        const report = await drivers.get(code)?.find?.({ ...sent, to: number }, signal)
        if (report !== undefined) return report
      } catch (error) {
        log.error({ driver: code, reason: errorReason(error) }, 'an SMS driver threw an error')
      }
    }
    return undefined
  }

  async send(message: SmsMessage, signal: AbortSignal): Promise<DeliveryOutcome> {
    const { drivers, driver: configured, log } = this.#parts
    const code = message.driver ?? configured()
    const driver = drivers.get(code)
    if (driver === undefined || !driver.isConfigured()) {
      return rejection(
        'driver-missing',
        code === '' ? 'No SMS driver is configured' : `The SMS driver "${code}" is not configured`,
      )
    }
    const to = this.numberOf(message.to)
    if (to === undefined) return rejection('number-refused', 'The number is no telephone number')
    if (signal.aborted)
      return { outcome: 'deferred', errorCode: 'sms.aborted', errorMessage: 'Cancelled before sending' }
    const { content, params = {} } = message
    const reference = fitTextToColumn(message.reference, maxReferenceLength)
    try {
      return await driver.send({ to, content, params, reference, ...this.#namesAt(code, driver, message) }, signal)
    } catch (error) {
      log.error({ driver: code, reference, reason: errorReason(error) }, 'an SMS driver threw an error')
      const errorMessage = 'The SMS driver failed; the log says why'
      return { outcome: 'unknown', errorCode: 'sms.driver-failed', errorMessage, provider: code }
    }
  }

  /**
   * Returns template code and signature for a driver. They are undefined if the message has none, or if the driver
   * cannot use them.
   */
  #namesAt(
    code: string,
    { templateCodes = /^/ }: SmsDriver,
    { template, templateCode, signName }: SmsMessage,
  ): Pick<SmsRequest, 'templateCode' | 'signName'> {
    const { templates, signNames } = this.#parts
    const named = [templateCode, template].filter((name) => name !== undefined)
    const mapped = named.map((name) => ownMember(ownMember(templates(), name) ?? {}, code))
    const known = mapped.find((name) => name !== undefined) ?? named.find((name) => templateCodes.test(name))
    const signatures = ownMember(signNames(), signName)
    const signature = signatures === undefined ? signName : ownMember(signatures, code)
    return omitUndefined({
      templateCode: known,
      signName: signature,
    })
  }
}

const ownMember = <Value>(from: Readonly<Record<string, Value>>, name: string | undefined): Value | undefined =>
  name !== undefined && Object.hasOwn(from, name) ? from[name] : undefined

const rejection = (name: 'driver-missing' | 'number-refused', errorMessage: string): DeliveryOutcome => ({
  outcome: 'rejected',
  errorCode: `sms.${name}`,
  errorMessage,
  hint: `messages.sms.hints.${name}`,
})
