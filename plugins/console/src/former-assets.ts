import { copyFile, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Milliseconds for which the assets of an earlier build are kept. A page that was opened before an upgrade may still
 * request them.
 */
const keptMs = 24 * 60 * 60_000

interface FormerAssets {
  /** Directory of the assets that will be replaced; it may be missing. */
  readonly replaced: string
  /** The new assets. */
  readonly current: string
  /**
   * Directory of former assets; it is created if it is missing. The modification time of a file is the time at which
   * the file was replaced.
   */
  readonly former: string
  /** Current time in milliseconds since the epoch. */
  readonly now: number
}

/**
 * Keeps the assets of a replaced build for a day. The name of an asset contains a hash of its content, so files with
 * the same name in several builds are equal.
 */
export async function keepReplacedAssets({ replaced, current, former, now }: FormerAssets): Promise<void> {
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
