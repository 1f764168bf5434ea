import { copyFile, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

/** Milliseconds in which a page that was opened before an upgrade may request the scripts of its build. */
const keptMs = 24 * 60 * 60_000

interface FormerAssets {
  /** Assets to be replaced; may be missing. */
  readonly replaced: string
  /** The new assets. */
  readonly current: string
  /**
   * Directory of former assets; created if it is missing. The modification time of a file is the time when it was
   * replaced.
   */
  readonly former: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * Keeps the assets of a replaced build for a day. Their names contain a hash of their content, so files of several
 * builds with equal names are equal.
 */
export async function keepFormerAssets({ replaced, current, former, now }: FormerAssets): Promise<void> {
  const kept = new Set(await readdir(current))
  const gone = (await readdir(replaced).catch(() => [])).filter((name) => !kept.has(name))
  if (gone.length > 0) await mkdir(former, { recursive: true })
  for (const name of gone) {
    const file = join(former, name)
    await copyFile(join(replaced, name), file)
    await utimes(file, now / 1000, now / 1000)
  }
  for (const name of await readdir(former).catch(() => [])) {
    const file = join(former, name)
    if ((await stat(file)).mtimeMs < now - keptMs) await rm(file, { force: true })
  }
}
