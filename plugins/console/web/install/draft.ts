import type { Group, Values } from './install-form.ts'

/** Key in the session storage of the browser, which lasts until the tab is closed. */
const storageKey = 'plinth.install.draft'

/** Stores the input of the form, so that it survives a reload. Passwords are not stored. */
export function storeDraft(groups: readonly Group[], values: Values): void {
  const fields = groups.flatMap((group) => group.fields).filter(({ hints }) => hints.input !== 'password')
  const kept = fields.flatMap(({ path }) => (values[path] === undefined ? [] : [[path, values[path]]]))
  write(JSON.stringify(Object.fromEntries(kept)))
}

/** Returns the stored input of the fields of the form. */
export function readDraft(groups: readonly Group[]): Values {
  const paths = new Set(groups.flatMap(({ fields }) => fields.map(({ path }) => path)))
  try {
    const stored: Values = JSON.parse(sessionStorage.getItem(storageKey) ?? '{}')
    return Object.fromEntries(Object.entries(stored).filter(([path]) => paths.has(path)))
  } catch {
    return {}
  }
}

export const forgetDraft = (): void => write(undefined)

/** Writes to the storage. A browser may forbid this; the form then works without drafts. */
function write(text: string | undefined): void {
  try {
    if (text === undefined) sessionStorage.removeItem(storageKey)
    else sessionStorage.setItem(storageKey, text)
  } catch {}
}
