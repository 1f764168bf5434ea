import { useSyncExternalStore } from 'react'
import { Store } from '../../../app/store.ts'
import { type Schema, writtenOf } from '../../../field/schema-rules.ts'
import { keepDraft, setUnsaved, takeDraft } from '../../shell/drafts.ts'
import type { ConfigItem, KeyProblem } from './config-types.ts'

/** Change of one key. A reset removes its stored value. */
interface DraftChange {
  readonly key: string
  readonly action: 'set' | 'reset'
  /** Content of the input field. `writtenOf` converts it to a value. */
  readonly typed: unknown
  /** The item as it was before the change. */
  readonly was: ConfigItem
}

/** A change in the form that the server accepts. */
interface SentChange {
  readonly key: string
  readonly action: 'set' | 'reset'
  readonly value?: unknown
  readonly expectedVersion: number
  readonly expectedDestination?: string
}

interface DraftState {
  readonly changes: ReadonlyMap<string, DraftChange>
  /** Errors of the last response of the server, by key. */
  readonly faults: ReadonlyMap<string, KeyProblem>
  /** Number of secrets that were removed from the draft when the user left the page. */
  readonly forgotten: number
}

/** Name under which the reason of the review is kept. */
export const reasonDraft = 'system-config.centre reason'

const nothing: DraftState = { changes: new Map(), faults: new Map(), forgotten: 0 }

export const schemaOf = ({ schema }: ConfigItem): Schema => schema ?? {}

/**
 * Returns the value that is displayed for an unchanged key: the stored value, or otherwise the effective value. The
 * result is empty for a secret.
 */
export function shownValue({ sensitive, stored, value }: ConfigItem): unknown {
  if (sensitive) return ''
  return stored?.value ?? value
}

const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/**
 * Unsaved changes of keys. They are kept in the memory of the browser page, so they remain while the user opens other
 * pages of the back office. Secrets are removed when the user leaves the config centre.
 */
class ConfigDraft extends Store<DraftState> {
  readonly #pageId: string

  constructor(pageId: string) {
    super(nothing)
    this.#pageId = pageId
    for (const change of takeDraft<readonly DraftChange[]>(pageId) ?? []) this.#put(change)
    keepDraft(pageId, () => this.#kept())
  }

  /** Records typed input. Input that equals the existing value is not a change. */
  type(item: ConfigItem, typed: unknown): void {
    const written = writtenOf(typed, schemaOf(item))
    // A list item that was added but is still empty is displayed but not sent.
    const isBegun = typeof typed === 'object' && JSON.stringify(typed).includes('""')
    const isBack = item.sensitive ? written === '' : !isBegun && isSame(written, shownValue(item))
    if (isBack) this.drop([item.key])
    else this.#put({ key: item.key, action: 'set', typed, was: this.current().changes.get(item.key)?.was ?? item })
  }

  /** Records that the stored value will be removed. */
  reset(item: ConfigItem): void {
    this.#put({ key: item.key, action: 'reset', typed: undefined, was: item })
  }

  /** Records that the key gets an earlier stored value. If `value` is undefined, the key had no stored value. */
  putBack(item: ConfigItem, value: unknown): void {
    if (value === undefined) this.reset(item)
    else this.type(item, value)
  }

  drop(keys: readonly string[]): void {
    const gone = new Set(keys)
    const left = <T>(from: ReadonlyMap<string, T>) => new Map([...from].filter(([key]) => !gone.has(key)))
    this.set({ ...this.current(), changes: left(this.current().changes), faults: left(this.current().faults) })
  }

  clear(): void {
    takeDraft(reasonDraft)
    this.set(nothing)
  }

  /** Removes changes that are already stored. Whether a secret is stored is unknown. */
  settle(items: ReadonlyMap<string, ConfigItem>): void {
    const stored = conflictsOf(this.current().changes.values(), items).filter(
      ({ change, now }) => !now.sensitive && isSame(sentChange(change).value, now.stored?.value),
    )
    if (stored.length > 0) this.drop(stored.map(({ change }) => change.key))
  }

  /** Makes the current stored values the new basis of the changes. */
  rebase(items: readonly ConfigItem[]): void {
    const changes = new Map(this.current().changes)
    for (const item of items) {
      const change = changes.get(item.key)
      if (change !== undefined) changes.set(item.key, { ...change, was: item })
    }
    this.set({ ...this.current(), changes })
  }

  refuse(faults: readonly KeyProblem[]): void {
    this.set({ ...this.current(), faults: new Map(faults.map((problem) => [problem.field, problem])) })
  }

  /** Removes all secrets from the draft. */
  forgetSecrets(): void {
    const secrets = [...this.current().changes.values()].filter(({ was, action }) => was.sensitive && action === 'set')
    if (secrets.length === 0) return
    this.drop(secrets.map(({ key }) => key))
    this.set({ ...this.current(), forgotten: secrets.length })
  }

  remembered(): void {
    if (this.current().forgotten > 0) this.set({ ...this.current(), forgotten: 0 })
  }

  #kept(): readonly DraftChange[] | undefined {
    const changes = [...this.current().changes.values()].filter(({ was }) => !was.sensitive)
    return changes.length === 0 ? undefined : changes
  }

  #put(change: DraftChange): void {
    const { changes, faults } = this.current()
    const others = new Map([...faults].filter(([key]) => key !== change.key))
    this.set({ forgotten: 0, changes: new Map(changes).set(change.key, change), faults: others })
  }

  protected override set(state: DraftState): void {
    super.set(state)
    setUnsaved(this.#pageId, state.changes.size)
  }
}

export const draft = new ConfigDraft('system-config.centre')

export const useDraft = (): DraftState => useSyncExternalStore(draft.subscribe, draft.current)

/** A field is rendered again only when the change of its own key is modified. */
export const useDraftChange = (key: string): DraftChange | undefined =>
  useSyncExternalStore(draft.subscribe, () => draft.current().changes.get(key))

export const useProblem = (key: string): KeyProblem | undefined =>
  useSyncExternalStore(draft.subscribe, () => draft.current().faults.get(key))

export const sentChange = ({ key, action, typed, was }: DraftChange): SentChange => ({
  key,
  action,
  expectedVersion: was.version,
  ...(action === 'set' ? { value: writtenOf(typed, schemaOf(was)), ...expectedDestinationOf(was) } : {}),
})

/** Returns the destination of a secret as the user has seen it. */
export const expectedDestinationOf = ({ destinationVersion }: ConfigItem): { readonly expectedDestination?: string } =>
  destinationVersion === undefined ? {} : { expectedDestination: destinationVersion }

/** A change of a key whose stored value, or whose destination, another user has changed after the change was drafted. */
export interface Conflict {
  readonly change: DraftChange
  readonly now: ConfigItem
  /** For a new secret whose destination has changed: the keys of the destination. */
  readonly destination: readonly ConfigItem[]
}

export const conflictsOf = (
  changes: Iterable<DraftChange>,
  items: ReadonlyMap<string, ConfigItem>,
): readonly Conflict[] =>
  [...changes].flatMap((change) => {
    const now = items.get(change.key)
    if (now === undefined) return []
    const isMoved = change.action === 'set' && now.destinationVersion !== change.was.destinationVersion
    if (now.version === change.was.version && !isMoved) return []
    const destination = isMoved ? (now.destination ?? []).flatMap((key) => items.get(key) ?? []) : []
    return [{ change, now, destination }]
  })
