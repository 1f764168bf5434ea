import { copyFile, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'

/** A page that was opened before an upgrade may ask for a script of its build for so long. */
const keptMs = 24 * 60 * 60_000

interface FormerAssets {
  /** Assets that are being replaced; may not exist. */
  readonly replaced: string
  /** Assets that replace them. */
  readonly current: string
  /** Directory of former assets; made when it is missing. The time of a file is the moment when it was replaced. */
  readonly former: string
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * Keeps the assets of a build that is replaced for a day. Their names contain a hash of their content, so that the assets of
 * several builds never differ under one name.
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
