import type { Database } from '@plinth/database'
import {
  type CleanupPreview,
  type Clock,
  type Logger,
  localize,
  type QuickstartCleanup,
  withinDeadline,
} from '@plinth/kernel'
import {
  allModulesPhrase,
  type CleanupAudit,
  type ErrorKey,
  type ModuleView,
  modulePhrase,
  type Outcome,
  type OverviewView,
  type ResultView,
  type RunView,
} from './contract.ts'
import { businessError, errorKeyOf, outcomeText, ResidualDataError } from './declarations.ts'
import { compareModuleCodes, moduleStateOf, moduleView, sum, viewOfRun, withoutEmptyEntries } from './module-view.ts'

interface CleanupDependencies {
  readonly cleanups: ReadonlyMap<string, QuickstartCleanup>
  readonly database: Database
  readonly audit: CleanupAudit
  readonly clock: Clock
  readonly log: Logger
  isEnabled(): boolean
}

export interface Caller {
  readonly operator: string
  readonly clientIp: string
  readonly userAgent: string
  readonly traceId: string
  readonly locale: string
}

/** Values of the preview that the caller must repeat. A missing value counts as wrong. */
interface ModuleConfirmation {
  readonly moduleCode?: string | undefined
  readonly dataType?: string | undefined
  readonly confirmation?: string | undefined
}

interface Ended {
  readonly outcome: Outcome
  /** State before the run; `undefined` if it could not be read. */
  readonly preview: CleanupPreview | undefined
  readonly removed?: Readonly<Record<string, number>>
  readonly errorKey?: ErrorKey
}

const previewDeadlineMs = 10_000
const removalDeadlineMs = 300_000

/**
 * Shows and removes the demo data of modules. The data of each module is removed in its own transaction, completely or
 * not at all.
 */
export class CleanupService {
  readonly #parts: CleanupDependencies
  readonly #stopping = new AbortController()

  constructor(parts: CleanupDependencies) {
    this.#parts = parts
  }

  stop(): void {
    this.#stopping.abort(new Error('the product stops'))
  }

  /** @throws BusinessError "403" `quickstart-cleanup.disabled` */
  async overview(locale: string): Promise<OverviewView> {
    this.#assertEnabled()
    const modules = await Promise.all(
      this.#modules().map(async ([code, cleanup]) =>
        moduleView(code, cleanup, await this.#preview(code, cleanup), locale),
      ),
    )
    const executableCount = modules.filter(({ executable }) => executable).length
    return { confirmation: allModulesPhrase, executableCount, modules }
  }

  /** @throws BusinessError "403" `quickstart-cleanup.disabled`, "404" `quickstart-cleanup.module-unknown` */
  async module(code: string, locale: string): Promise<ModuleView> {
    const cleanup = this.#cleanup(code)
    return moduleView(code, cleanup, await this.#preview(code, cleanup), locale)
  }

  /**
   * Removes the demo data of all modules that are ready. A module that fails does not affect the others.
   *
   * @throws BusinessError "403" `quickstart-cleanup.disabled`, "400" `quickstart-cleanup.confirmation-mismatch`
   */
  async cleanAll(confirmation: string | undefined, caller: Caller): Promise<RunView> {
    this.#assertEnabled()
    if (!isSamePhrase(confirmation ?? '', allModulesPhrase))
      await this.#reject('confirmation', { module: 'all' }, caller)
    const modules: ResultView[] = []
    for (const [code, cleanup] of this.#modules()) modules.push(await this.#clean(code, cleanup, caller))
    return viewOfRun(modules)
  }

  /**
   * Removes the demo data of one module. If the module is blocked or clean, only returns its state.
   *
   * @throws BusinessError "403" `quickstart-cleanup.disabled`, "404" `quickstart-cleanup.module-unknown`, "400"
   *   `quickstart-cleanup.confirmation-mismatch` with `data.field`
   */
  async cleanModule(code: string, given: ModuleConfirmation, caller: Caller): Promise<RunView> {
    const cleanup = this.#cleanup(code)
    const isAsPreviewed = {
      moduleCode: given.moduleCode === code,
      dataType: given.dataType === cleanup.dataType,
      confirmation: isSamePhrase(given.confirmation ?? '', modulePhrase(code)),
    }
    const wrong = Object.entries(isAsPreviewed).find(([, isRight]) => !isRight)?.[0]
    if (wrong !== undefined) await this.#reject(wrong, { module: code, dataType: cleanup.dataType }, caller)
    return viewOfRun([await this.#clean(code, cleanup, caller)])
  }

  #assertEnabled(): void {
    if (!this.#parts.isEnabled()) throw businessError('disabled')
  }

  #modules(): [string, QuickstartCleanup][] {
    return [...this.#parts.cleanups].sort(([left], [right]) => compareModuleCodes(left, right))
  }

  #cleanup(code: string): QuickstartCleanup {
    this.#assertEnabled()
    const cleanup = this.#parts.cleanups.get(code)
    if (cleanup === undefined) throw businessError('module-unknown', { params: { moduleCode: code } })
    return cleanup
  }

  /** Returns the preview of a module, or `undefined` if it cannot be read. */
  async #preview(code: string, cleanup: QuickstartCleanup): Promise<CleanupPreview | undefined> {
    const { clock, log } = this.#parts
    const late = () => new Error(`no answer within ${previewDeadlineMs} ms`)
    const work = (signal: AbortSignal) => cleanup.preview(signal)
    try {
      return withoutEmptyEntries(await withinDeadline(clock, previewDeadlineMs, work, late, this.#stopping.signal))
    } catch (err) {
      log.error({ err, module: code }, 'the demo data of a module cannot be read')
      return undefined
    }
  }

  async #clean(code: string, cleanup: QuickstartCleanup, caller: Caller): Promise<ResultView> {
    const before = await this.#preview(code, cleanup)
    const ended = await this.#run(code, cleanup, before, caller)
    const { outcome, preview, errorKey, removed = {} } = ended
    // A success was recorded in the transaction of the removal, and a clean module needs no record.
    if (outcome === 'failed' || outcome === 'blocked') {
      await this.#record(code, cleanup, ended, caller).catch(this.#unrecorded)
    }
    const text = outcomeText(outcome === 'failed' ? (errorKey ?? 'removal-failed') : outcome)
    return {
      ...moduleView(code, cleanup, outcome === 'cleaned' ? { targets: [], blockers: [] } : preview, caller.locale),
      outcome,
      executed: outcome === 'cleaned' || (outcome === 'failed' && preview !== undefined),
      removed: Object.entries(removed).map(([type, count]) => ({ type, count })),
      errorKey: errorKey ?? '',
      message: localize(text, caller.locale),
    }
  }

  async #run(
    code: string,
    cleanup: QuickstartCleanup,
    before: CleanupPreview | undefined,
    caller: Caller,
  ): Promise<Ended> {
    if (before === undefined) return { outcome: 'failed', preview: before, errorKey: 'preview-failed' }
    const seen = moduleStateOf(before)
    if (seen === 'blocked' || seen === 'clean') return { outcome: seen, preview: before }
    const { database, log } = this.#parts
    try {
      return await this.#bounded((signal) => database.transactional(() => this.#remove(code, cleanup, signal, caller)))
    } catch (err) {
      log.error({ err, module: code }, 'demo data was not removed')
      return { outcome: 'failed', preview: before, errorKey: errorKeyOf(err) }
    }
  }

  /**
   * Removes the demo data in the current transaction. Reads the preview again, because real data may have been added
   * since the last preview.
   */
  async #remove(code: string, cleanup: QuickstartCleanup, signal: AbortSignal, caller: Caller): Promise<Ended> {
    const preview = withoutEmptyEntries(await cleanup.preview(signal))
    const state = moduleStateOf(preview)
    if (state !== 'ready') return { outcome: state, preview }
    const removed = await cleanup.execute(signal)
    signal.throwIfAborted()
    const { targets } = withoutEmptyEntries(await cleanup.preview(signal))
    if (targets.length > 0) throw new ResidualDataError(`left: ${targets.map(({ type }) => type).join(', ')}`)
    const ended: Ended = { outcome: 'cleaned', preview, removed }
    await this.#record(code, cleanup, ended, caller)
    return ended
  }

  /**
   * Runs a removal with a signal that aborts after the time limit, and always waits for its end. Otherwise the removal
   * could continue to write after its transaction was cancelled.
   */
  async #bounded<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const over = new AbortController()
    const done = new AbortController()
    this.#parts.clock.sleep(removalDeadlineMs, done.signal).then(() => {
      if (!done.signal.aborted) over.abort(new DOMException('the removal took too long', 'TimeoutError'))
    })
    try {
      return await work(AbortSignal.any([over.signal, this.#stopping.signal]))
    } finally {
      done.abort()
    }
  }

  #record(code: string, { dataType }: QuickstartCleanup, ended: Ended, caller: Caller): Promise<void> {
    const { outcome, preview, errorKey } = ended
    const summary = {
      module: code,
      dataType,
      outcome,
      targets: sum(preview?.targets ?? []),
      blockers: sum(preview?.blockers ?? []),
      removed: Object.values(ended.removed ?? {}).reduce((total, count) => total + count, 0),
      errorKey: errorKey ?? '',
    }
    const status = outcome === 'cleaned' ? 'passed' : outcome === 'failed' ? 'failed' : 'warning'
    return this.#parts.audit.record({ action: 'quickstart-cleanup', status, ...originOf(caller), summary })
  }

  async #reject(field: string, about: Readonly<Record<string, string>>, caller: Caller): Promise<never> {
    const summary = { ...about, outcome: 'refused', errorKey: 'confirmation-mismatch', field }
    const entry = { action: 'quickstart-cleanup', status: 'failed', ...originOf(caller), summary } as const
    await this.#parts.audit.record(entry).catch(this.#unrecorded)
    throw businessError('confirmation-mismatch', { params: { field }, data: { field } })
  }

  /** If the audit fails, the result of the removal is returned anyway. */
  readonly #unrecorded = (err: unknown) => this.#parts.log.error({ err }, 'the audit of a removal was not written')
}

/** Compares phrases without regard to case, surrounding blanks and Unicode form. */
function isSamePhrase(given: string, phrase: string): boolean {
  const folded = (text: string) => text.normalize('NFC').trim().toUpperCase()
  return folded(given) === folded(phrase)
}

const originOf = ({ operator, clientIp, userAgent, traceId }: Caller) => ({ operator, clientIp, userAgent, traceId })
