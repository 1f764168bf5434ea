import { basename, isAbsolute, join } from 'node:path'
import type { ProbeTarget } from '@plinth/database'
import type { Passwords } from '@plinth/iam'
import { errorCodeOf, maskedValue } from '@plinth/kernel'
import { validateValue } from '@plinth/kernel/host'
import type { RedisTarget } from '@plinth/shared-store'
import type { FixedField, PlanEntry } from '../contract.ts'
import { StepFailure } from '../declarations.ts'
import { type Caller, installerActorName } from '../entry/caller.ts'
import { EnvFileError, envFileKeys, readEnvFile, writeEnvFile } from '../env-file/env-file.ts'
import { readExampleKeys } from '../env-file/env-file-text.ts'
import type { InstallFiles } from '../files.ts'
import { defaultPasswordPolicy, type FieldProblem, passwordPolicies, passwordProblems } from '../form/field-rules.ts'
import { allFields, type InstallForm, settingsOf } from '../form/fields.ts'
import { checkForm, checkOf, hasPassed, type SentenceCheck } from '../form/form-checks.ts'
import { formDefaults } from '../form/form-schema.ts'
import { type ReadConfiguredValue, textOf } from '../form/form-values.ts'
import type { InstallServices } from '../requires.ts'
import type { InstallState } from '../state/install-state.ts'
import { publicReason, type Translate } from '../texts.ts'
import type { ConnectionProbes, NewConnectionTrial } from './connection-probes.ts'
import {
  changedConnections,
  fixingPlace,
  type PlannedSetting,
  planSettings,
  valuesOfNewProducts,
} from './settings-plan.ts'

type SettingsWriterDependencies = Pick<
  InstallServices,
  'kernel' | 'config' | 'configAdmin' | 'configCentre' | 'accounts' | 'passwords'
> & {
  readonly probes: ConnectionProbes
  readonly files: InstallFiles
  readonly running: ReadConfiguredValue
  readonly trial: NewConnectionTrial
  readonly state: InstallState
  readonly translate: Translate
}

export interface SettingsPlan {
  readonly checks: readonly SentenceCheck[]
  readonly passed: boolean
  /** Settings of the form; empty if a check failed. */
  readonly settings: readonly PlannedSetting[]
  /** Variables that may be written to the file. */
  readonly allowed: ReadonlySet<string>
  /** True if the product must restart before the remaining steps can run. */
  readonly restartRequired: boolean
}

export class SettingsWriter {
  readonly #parts: SettingsWriterDependencies

  constructor(parts: SettingsWriterDependencies) {
    this.#parts = parts
  }

  /** Returns the password policies of the form, each with its rules for an administrator as text. */
  passwordPolicies(locale: string): Readonly<Record<string, string>> {
    const { passwords, translate } = this.#parts
    const rulesOf = (policy: Passwords['policy']) =>
      passwordProblems(passwords.check('', undefined, true, policy), locale, translate)
    return Object.fromEntries(passwordPolicies(passwords).map((policy) => [policy, rulesOf(policy)]))
  }

  get proposedPolicy(): Passwords['policy'] {
    return defaultPasswordPolicy(this.#parts.passwords, this.#parts.configAdmin)
  }

  /**
   * Returns the fields whose value another source sets, for example an environment variable, so that the installer
   * cannot change them. Fields of the database may only be fixed for the configured type, which the form can change.
   */
  fixedFields(): ReadonlyMap<string, FixedField> {
    const { configAdmin, running } = this.#parts
    const none = { fault: '', faultField: '' }
    const form = formDefaults(running, false, { locale: 'en' }, this.proposedPolicy, none)
    const fixed = settingsOf(form, running).flatMap((setting) => {
      const place = fixingPlace(setting, configAdmin)
      return place === undefined ? [] : [[setting.field, { place }] as const]
    })
    const places = new Map<string, FixedField>(fixed)
    if (places.has('database.type')) return places
    const condition = { field: 'database.type', values: [form.database.type] }
    for (const [field, { place }] of places) {
      if (field.startsWith('database.')) places.set(field, { place, condition })
    }
    return places
  }

  check(form: InstallForm, locale: string): readonly SentenceCheck[] {
    return checkForm(form, { ...this.#parts, locale })
  }

  /** Returns the effect of writing the form. Reads the example file and writes nothing. */
  async plan(form: InstallForm, locale: string): Promise<SettingsPlan> {
    const { kernel, configAdmin, files, running } = this.#parts
    const checks = this.check(form, locale)
    const allowed = (await readExampleKeys(files.exampleFile)) ?? new Set<string>()
    if (!hasPassed(checks)) return { checks, passed: false, settings: [], allowed, restartRequired: false }
    const requested = [...settingsOf(form, running), ...valuesOfNewProducts(configAdmin)]
    const settings = planSettings(requested, configAdmin, running, allowed)
    const findings = settings.flatMap((setting) => {
      const finding = problemOf(setting, locale)
      const field = allFields.find(({ path }) => path === setting.field)
      return finding === undefined || field === undefined ? [] : [checkOf(field, finding, { ...this.#parts, locale })]
    })
    const all = [...checks, ...findings]
    const passed = hasPassed(all)
    return {
      checks: all,
      passed,
      settings: passed ? settings : [],
      allowed,
      restartRequired: passed && (changedConnections(settings).size > 0 || kernel.fallback !== undefined),
    }
  }

  /** Returns the plan for display, with masked secrets. */
  entries(form: InstallForm, { passed, settings }: SettingsPlan, locale: string): PlanEntry[] {
    if (!passed) return []
    const { translate } = this.#parts
    const planned = settings.map(({ key, value, target, entry, isChanged, overriddenBy }): PlanEntry => {
      const sensitive = entry?.sensitive ?? key.endsWith('.password')
      const text =
        entry === undefined ? 'undeclared' : target === 'runtime' ? 'not-listed' : isChanged ? 'changed' : 'unchanged'
      return {
        propertyKey: key,
        environmentKey: target === '.env' ? (entry?.env ?? '') : '',
        maskedValue: sensitive ? maskedValue : String(value),
        sensitive,
        target,
        note: translate(locale, `note.${overriddenBy === undefined ? text : 'overridden'}`, {
          place: overriddenBy ?? '',
        }),
      }
    })
    const administrator = ['username', 'email', 'mobile', 'password'].flatMap((name): PlanEntry[] => {
      const value = textOf(form, `administrator.${name}`)
      if (value === '') return []
      const sensitive = name === 'password'
      return [
        {
          propertyKey: `administrator.${name}`,
          environmentKey: '',
          maskedValue: sensitive ? maskedValue : value,
          sensitive,
          target: 'runtime',
          note: translate(locale, 'note.administrator'),
        },
      ]
    })
    return [...planned, ...administrator]
  }

  /**
   * Connects to the database and the cache of the form, unless the product already uses them.
   *
   * @returns the settings, corrected with facts that the server reported
   * @throws StepFailure; BusinessError "429", reason `install.probe-busy`, if too many probes run
   */
  async probe({ settings }: SettingsPlan, caller: Pick<Caller, 'isProven'>): Promise<readonly PlannedSetting[]> {
    const { probes, kernel } = this.#parts
    // While the product runs on the fallback database, it does not use the configured connections.
    const changed = kernel.fallback === undefined ? changedConnections(settings) : new Set(['database', 'cache'])
    const cache = redisTarget(settings)
    if (changed.has('cache') && cache !== undefined) await probes.cache(cache, caller)
    if (!changed.has('database')) return settings
    const { product } = await probes.database(probeTarget(settings, this.#parts), caller)
    const isMariaDb = product === 'MariaDB'
    return settings.map((setting) =>
      isMariaDb && setting.key === 'platform.database.type' ? { ...setting, value: 'mariadb' } : setting,
    )
  }

  /**
   * Connects to the configured database.
   *
   * @throws StepFailure
   */
  async tryConfigured(): Promise<void> {
    const { configAdmin, running, probes } = this.#parts
    const { database } = formDefaults(running, true, { locale: 'en' }, this.proposedPolicy, {
      fault: '',
      faultField: '',
    })
    const settings = planSettings(settingsOf({ database }, running), configAdmin, running, new Set())
    await probes.database(probeTarget(settings, this.#parts), { isProven: true })
  }

  /**
   * Writes the file atomically. An unchanged value is only written if the file already contains its variable.
   *
   * @returns the changed variables
   * @throws StepFailure
   */
  async writeFile(settings: readonly PlannedSetting[], allowed: ReadonlySet<string>): Promise<readonly string[]> {
    const { configFile } = this.#parts.files
    try {
      const present = new Set(envFileKeys(await readEnvFile(configFile)))
      const changes = settings.flatMap(({ target, entry, value, isChanged }) => {
        const isWritten = target === '.env' && entry !== undefined && (isChanged || present.has(entry.env))
        return isWritten ? [[entry.env, String(value)] as const] : []
      })
      if (changes.length === 0) return []
      const connections = changedConnections(settings)
      if (connections.size > 0) await this.#parts.trial.begin(settings)
      const { changed, added } = await writeEnvFile(configFile, Object.fromEntries(changes), { allowed })
      if (connections.has('database')) await this.#parts.state.leaveDatabase()
      return [...changed, ...added]
    } catch (error) {
      if (error instanceof EnvFileError) throw new StepFailure(`failure.${error.code}`, error.params, error)
      const reason = errorCodeOf(error)
      if (reason === undefined) throw error
      throw new StepFailure('failure.env-not-writable', { file: basename(configFile), reason }, error)
    }
  }

  /**
   * Stores the settings in the database.
   *
   * @throws StepFailure
   */
  async store(settings: readonly PlannedSetting[], traceId: string): Promise<void> {
    const { configCentre } = this.#parts
    const changes = settings.flatMap(({ target, key, value }) =>
      target === 'config' ? [{ key, action: 'set', value } as const] : [],
    )
    if (changes.length === 0) return
    try {
      await configCentre.save(changes, { actor: { name: installerActorName, traceId }, reason: 'install' })
    } catch (error) {
      throw new StepFailure('failure.store', { reason: publicReason(error) }, error)
    }
  }
}

function problemOf(
  { entry, value, isChanged, target, connection, overriddenBy }: PlannedSetting,
  locale: string,
): FieldProblem | undefined {
  if (!isChanged || entry === undefined) return undefined
  if (overriddenBy !== undefined) return { status: 'failed', text: 'overridden', params: { place: overriddenBy } }
  if (connection !== undefined && target === 'runtime') {
    return { status: 'failed', text: 'not-listed', params: { name: entry.env } }
  }
  const [fault] = validateValue({ ...entry, sensitive: entry.sensitive }, value, locale)
  return fault === undefined ? undefined : { status: 'failed', text: 'key-rule', params: { rule: fault.message } }
}

/** Returns the Redis server of the form, or `undefined` if the form does not use Redis. */
function redisTarget(settings: readonly PlannedSetting[]): RedisTarget | undefined {
  const value = (name: string) => settings.find(({ key }) => key === `platform.cache.${name}`)?.value
  if (value('enabled') !== true) return undefined
  return {
    host: String(value('host')),
    port: Number(value('port')),
    database: Number(value('database')),
    password: String(value('password')),
  }
}

function probeTarget(
  settings: readonly PlannedSetting[],
  { running, kernel }: SettingsWriterDependencies,
): ProbeTarget {
  const value = (key: string) => settings.find((setting) => setting.key === `platform.database.${key}`)?.value
  const type = value('type') as ProbeTarget['type']
  if (type === 'sqlite') {
    const file = String(value('sqlite.file'))
    return { type, file: file === ':memory:' || isAbsolute(file) ? file : join(kernel.product.root, file) }
  }
  const tls = running('platform.database.tls') as 'off' | 'encrypt' | 'verify'
  return {
    type,
    host: String(value('host')),
    port: Number(value('port')),
    name: String(value('name')),
    username: String(value('username')),
    password: String(value('password')),
    tls,
  }
}
