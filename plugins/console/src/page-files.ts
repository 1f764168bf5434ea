import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { PageAsset } from '@plinth/http'
import { codeOf } from '@plinth/kernel'

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Encodings that the build leaves next to a file, by the ending of its name. */
const packedEndings: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

/**
 * The built pages, held in memory: half a megabyte, which nothing that happens to the directory later can break. Names are
 * looked up, never joined to a path.
 */
export class PageFiles {
  readonly #files: ReadonlyMap<string, Buffer>

  private constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files
  }

  /**
   * @param former directory of assets that pages of earlier builds may still ask for; may not exist
   * @returns `undefined` when nothing is built
   */
  static async read(directory: string, former: string): Promise<PageFiles | undefined> {
    try {
      const old = (await readdir(former).catch(() => [])).map(async (name) => {
        const content = await readFile(join(former, name)).catch(() => undefined)
        return content === undefined ? [] : [[`assets/${name}`, content] as const]
      })
      const pages = (await readdir(directory)).filter((name) => extname(name) === '.html')
      const assets = (await readdir(join(directory, 'assets'))).map((name) => `assets/${name}`)
      const read = [...pages, ...assets].map(async (name) => [name, await readFile(join(directory, name))] as const)
      return new PageFiles(new Map([...(await Promise.all(old)).flat(), ...(await Promise.all(read))]))
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
  }

  html(name: string): string | undefined {
    return this.#files.get(`${name}.html`)?.toString('utf8')
  }

  asset(path: string, encodings: readonly string[]): PageAsset | undefined {
    const contentType = contentTypes[extname(path)]
    const plain = this.#files.get(path)
    if (contentType === undefined || plain === undefined || !path.startsWith('assets/')) return undefined
    for (const encoding of encodings) {
      const packed = this.#files.get(`${path}${packedEndings[encoding] ?? '.'}`)
      if (packed !== undefined) return { body: packed, contentType, encoding, immutable: true }
    }
    return { body: plain, contentType, immutable: true }
  }
}
