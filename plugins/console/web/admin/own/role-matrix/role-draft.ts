import { useSyncExternalStore } from 'react'
import { Store } from '../../../app/store.ts'
import { keepDraft, setUnsaved, takeDraft } from '../../shell/drafts.ts'
import type { Role } from './roles.ts'

/** The planned change of one role. */
export interface RoleChange {
  /** The role before the change. */
  readonly was: Role
  /** Permissions to grant (true) or to revoke (false). */
  readonly wanted: ReadonlyMap<string, boolean>
}

/** A change in the form that is stored while the page reloads. */
interface KeptChange {
  readonly was: Role
  readonly wanted: readonly (readonly [string, boolean])[]
}

const pageId = 'iam.role-matrix'
/** Name under which the reason of the review is kept. */
export const reasonDraft = `${pageId} reason`

export type RoleChanges = ReadonlyMap<number, RoleChange>

/** Unsaved changes of roles, kept in the memory of the browser page. */
class RoleDraft extends Store<RoleChanges> {
  constructor() {
    super(new Map())
    for (const { was, wanted } of takeDraft<readonly KeptChange[]>(pageId) ?? [])
      this.#put({ was, wanted: new Map(wanted) })
    keepDraft(pageId, () => {
      const changes = [...this.current().values()].map(({ was, wanted }): KeptChange => ({ was, wanted: [...wanted] }))
      return changes.length === 0 ? undefined : changes
    })
  }

  /** Records whether a role should have a permission. If this is already the state of the role, it is not a change. */
  want(role: Role, code: string, isWanted: boolean): void {
    const change = this.current().get(role.id) ?? { was: role, wanted: new Map<string, boolean>() }
    const wanted = new Map(change.wanted)
    if (change.was.permissions.includes(code) === isWanted) wanted.delete(code)
    else wanted.set(code, isWanted)
    this.#put({ ...change, wanted })
  }

  /** Makes the current role the new basis of its change. */
  rebase(now: Role): void {
    const change = this.current().get(now.id)
    if (change === undefined) return
    const left = [...change.wanted].filter(([code, isWanted]) => now.permissions.includes(code) !== isWanted)
    this.#put({ was: now, wanted: new Map(left) })
  }

  drop(roleId: number): void {
    this.set(new Map([...this.current()].filter(([id]) => id !== roleId)))
  }

  clear(): void {
    takeDraft(reasonDraft)
    this.set(new Map())
  }

  /** Removes changes that the current roles already contain. */
  settle(roles: readonly Role[]): void {
    for (const { id, version, permissions } of roles) {
      const change = this.current().get(id)
      const isStored = ([code, isWanted]: readonly [string, boolean]) => permissions.includes(code) === isWanted
      if (change !== undefined && version > change.was.version && [...change.wanted].every(isStored)) this.drop(id)
    }
  }

  #put(change: RoleChange): void {
    if (change.wanted.size === 0) this.drop(change.was.id)
    else this.set(new Map(this.current()).set(change.was.id, change))
  }

  protected override set(changes: RoleChanges): void {
    super.set(changes)
    setUnsaved(pageId, countOf(changes))
  }
}

/** Returns the number of granted and revoked permissions of all roles. */
export const countOf = (changes: RoleChanges) => [...changes.values()].reduce((sum, { wanted }) => sum + wanted.size, 0)

export const draft = new RoleDraft()

export const useDraft = (): RoleChanges => useSyncExternalStore(draft.subscribe, draft.current)

/** Returns the whole role with its changes, because the operation replaces the role. */
export function replacementOf({ was, wanted }: RoleChange) {
  const { name, description, dataScope, permissions, version } = was
  const kept = permissions.filter((code) => wanted.get(code) !== false)
  const added = [...wanted].flatMap(([code, isWanted]) => (isWanted ? [code] : []))
  return { name, description, dataScope, permissions: [...kept, ...added].sort(), version }
}
