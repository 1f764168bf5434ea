/**
 * Generates the page about native packages: runtime dependencies with machine code, and the systems that they support.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { publicModules } from './api-compat.ts'
import type { PageLocale } from './plugin-pages.ts'

/** Entry of `package-lock.json`. */
interface Locked {
  readonly version?: string
  readonly link?: boolean
  readonly resolved?: string
  readonly hasInstallScript?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

const systems = ['glibc', 'musl', 'macOS', 'Windows'] as const
type System = (typeof systems)[number]

/** What a product cannot do if a system has no prebuilt file, by package. A new native package needs an entry. */
const consequences: Readonly<Record<string, Readonly<Record<PageLocale, string>>>> = {
  'better-sqlite3': {
    en: 'SQLite cannot be used. Use a database server.',
    'zh-CN': '无法使用 SQLite，请使用数据库服务器。',
  },
  'msgpackr-extract': {
    en: 'The queue decodes messages in JavaScript, which is slower.',
    'zh-CN': '队列用 JavaScript 解码消息，速度较慢。',
  },
  secp256k1: {
    en: 'Signers of wallets are recovered by `@noble/curves` in JavaScript, which is about 20 times slower.',
    'zh-CN': '钱包的签名者由 `@noble/curves` 用 JavaScript 恢复，约慢 20 倍。',
  },
}

const words: Readonly<Record<PageLocale, { readonly about: string; readonly head: string; readonly none: string }>> = {
  en: {
    about: `# Native packages

These runtime dependencies contain machine code. Each cell lists the processors for which the package ships a prebuilt file. The table is
read from the manifests and files of the installed packages. It does not claim that a test ran on these systems:
[versions.md](operations/versions.md) lists the tested ones. No other runtime dependency contains machine code or runs a script during
installation. If a prebuilt file exists, \`npm install --ignore-scripts\` is enough.`,
    head: '| package | Linux with glibc | Linux with musl | macOS | Windows | without a prebuilt file |',
    none: 'none',
  },
  'zh-CN': {
    about: `# 本机软件包

以下运行时依赖含有机器代码。每个单元格列出软件包提供预编译文件的处理器。该表根据已安装软件包的清单和文件生成，并不表示在这些系统上运行过测试：
[versions.md](operations/versions.md) 列出经过测试的系统。其他运行时依赖不含机器代码，也不在安装时运行脚本。如果存在预编译文件，
\`npm install --ignore-scripts\` 就足够了。`,
    head: '| 软件包 | 使用 glibc 的 Linux | 使用 musl 的 Linux | macOS | Windows | 没有预编译文件时 |',
    none: '无',
  },
}

/** Returns the page about all runtime dependencies that contain machine code or run an install script. */
export function nativePackagePage(root: string, locale: PageLocale): string {
  const { about, head, none } = words[locale]
  const rows = nativePackages(root).map(({ name, version, prebuilt }) => {
    const consequence = consequences[name]?.[locale]
    if (consequence === undefined) throw new Error(`scripts/native-packages.ts: describe ${name}`)
    const cells = systems.map((system) => prebuilt.get(system)?.join(', ') ?? none)
    return `| \`${name}\` ${version} | ${[...cells, consequence].join(' | ')} |`
  })
  return `${[about, '', head, '|---|---|---|---|---|---|', ...rows].join('\n')}\n`
}

interface NativePackage {
  readonly name: string
  readonly version: string
  /** Processors for which the package has a prebuilt file, by system. */
  readonly prebuilt: ReadonlyMap<System, readonly string[]>
}

/** Returns the native packages that the published packages need, by name. */
export function nativePackages(root: string): NativePackage[] {
  const lock: Readonly<Record<string, Locked>> = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  ).packages
  return [...productionFolders(root, lock)].sort().flatMap((folder) => {
    const { version = '', hasInstallScript, optionalDependencies = {} } = lock[folder] ?? {}
    const files = globSync('**/*.node', { cwd: join(root, folder), exclude: ['node_modules'] })
    const isPartOfAnother = files.length > 0 && targetsOf(folder).length > 0
    const targets = [...files, ...Object.keys(optionalDependencies)].flatMap(targetsOf)
    if (isPartOfAnother || (targets.length === 0 && files.length === 0 && hasInstallScript !== true)) return []
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return [{ name, version, prebuilt: bySystem(targets) }]
  })
}

/** Returns the folders of all third-party packages that the published packages need at run time. */
function productionFolders(root: string, lock: Readonly<Record<string, Locked>>): ReadonlySet<string> {
  const own = publicModules(root).map(({ folder }) => folder.replaceAll('\\', '/'))
  const found = new Set<string>()
  const pending = [...own]
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    if (found.has(folder)) continue
    found.add(folder)
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = lock[folder] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      // Skips optional peer dependencies of third-party packages. Those of this repository are drivers of database
      // servers.
      if (peerDependenciesMeta[name]?.optional === true && !own.includes(folder)) continue
      const target = resolve(lock, folder, name)
      if (target !== undefined) pending.push(target)
    }
  }
  return new Set([...found].filter((folder) => !own.includes(folder)))
}

/** Returns the folder in which Node.js finds a package that `from` imports; undefined if it is not installed. */
function resolve(lock: Readonly<Record<string, Locked>>, from: string, name: string): string | undefined {
  const parts = from.split('/')
  for (let length = parts.length; length >= 0; length--) {
    const folder = [...parts.slice(0, length), 'node_modules', name].join('/')
    const entry = lock[folder]
    if (entry !== undefined) return entry.link === true ? entry.resolved : folder
  }
  return undefined
}

interface Target {
  readonly system: System
  readonly processor: string
}

/**
 * Reads the systems and processors from the name of a file or package, such as `prebuilds/linuxmusl-x64.node` or
 * `extract-win32-x64`.
 */
function targetsOf(name: string): readonly Target[] {
  const [, platform, processor = ''] = /(linux|darwin|win32)(?:musl)?-(x64|arm64|arm|ia32)\b/.exec(name) ?? []
  if (platform === undefined) return []
  if (platform !== 'linux') return [{ system: platform === 'darwin' ? 'macOS' : 'Windows', processor }]
  const isMusl = name.includes('musl')
  // If the name of a Linux package does not contain a C library, the package works with both libraries.
  const isBoth = !name.endsWith('.node') && !isMusl && !/gnu|glibc/.test(name)
  const libraries: readonly System[] = isBoth ? ['glibc', 'musl'] : [isMusl ? 'musl' : 'glibc']
  return libraries.map((system) => ({ system, processor }))
}

function bySystem(targets: readonly Target[]): ReadonlyMap<System, readonly string[]> {
  const grouped = Map.groupBy(targets, ({ system }) => system)
  return new Map(
    [...grouped].map(([system, all]) => [system, [...new Set(all.map(({ processor }) => processor))].sort()]),
  )
}
