import { base } from '../site-context.ts'

const storageName = `plinth.return ${base}`
/** A link in a mail is opened within this time, or never. */
const maxAgeMs = 60 * 60_000

/** Remembers the open page for a recovery. The link in the mail opens a new tab, so all tabs share the address. */
export function keepReturnAddress(): void {
  const { pathname, search, hash } = location
  try {
    localStorage.setItem(storageName, JSON.stringify({ address: pathname + search + hash, at: Date.now() }))
  } catch {
    // Without a storage, the overview opens after the recovery.
  }
}

/** Forgets the page when the recovery ends, or the user signs out. The next user must not see it. */
export function forgetReturnAddress(): void {
  try {
    localStorage.removeItem(storageName)
  } catch {
    // Without a storage, there is nothing to forget.
  }
}

/** Returns the address of the page that was open before the recovery, or that of the overview. */
export function returnAddress(): string {
  try {
    const { address, at } = JSON.parse(localStorage.getItem(storageName) ?? '{}')
    const isFresh = Date.now() - Number(at) < maxAgeMs
    return isFresh && typeof address === 'string' && address.startsWith(`${base}/`) ? address : `${base}/`
  } catch {
    return `${base}/`
  }
}
