import { existsSync, readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative, sep } from 'node:path'
import { nodeRange } from '@plinth/kernel/program'
import semver from 'semver'
import { verifyError } from './errors.ts'
import { type VerifyProblem, withLevel } from './verify-report.ts'

type Names = Readonly<Record<string, string>>
type Exports = string | null | readonly Exports[] | { readonly [condition: string]: Exports }

/** The properties of a package.json that the verification reads. */
export interface PackageManifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly license?: string
  readonly type?: string
  readonly engines?: Names
  readonly main?: string
  readonly exports?: Exports
  readonly scripts?: Names
  readonly dependencies?: Names
  readonly peerDependencies?: Names
  readonly optionalDependencies?: Names
}

const kernelName = '@plinth/kernel'

/** Returns the names of all packages that a package depends on. */
export const dependenciesOf = ({
  dependencies = {},
  peerDependencies = {},
  optionalDependencies = {},
}: PackageManifest): readonly string[] => Object.keys({ ...optionalDependencies, ...peerDependencies, ...dependencies })

/**
 * Reads the package.json of a folder.
 *
 * @throws the error of the file system or of the JSON parser
 */
export const readManifest = (folder: string): PackageManifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/**
 * Returns the problems that would prevent other products from using the package. A private package is used only in its
 * own product and has none.
 */
export function findManifestProblems(manifest: PackageManifest): readonly VerifyProblem[] {
  if (manifest.private === true) return []
  const node = manifest.engines?.['node']
  const isEnough = node !== undefined && semver.validRange(node) !== null && semver.subset(node, nodeRange)
  return [
    ...((manifest.license ?? '') === '' ? [withLevel(verifyError('PLINTH_VERIFY_LICENCE'))] : []),
    ...(isEnough
      ? []
      : [withLevel(verifyError('PLINTH_VERIFY_ENGINES', { found: node ?? 'missing', needed: nodeRange }))]),
    ...(manifest.dependencies?.[kernelName] === undefined
      ? []
      : [withLevel(verifyError('PLINTH_VERIFY_KERNEL_NOT_PEER'))]),
  ]
}

/** Returns the main file of a package: the first target in its `exports` that Node.js would choose. */
function entryOf({ exports, main = 'index.js' }: PackageManifest): string {
  const isSubpaths = typeof exports === 'object' && exports !== null && !Array.isArray(exports) && '.' in exports
  return targetIn(isSubpaths ? (exports as { '.': Exports })['.'] : exports) ?? main
}

function targetIn(exports: Exports | undefined): string | undefined {
  if (typeof exports === 'string') return exports
  if (typeof exports !== 'object' || exports === null) return undefined
  const targets = Object.entries(exports).flatMap(([name, target]) =>
    ['node', 'import', 'module-sync', 'default'].includes(name) ? (targetIn(target) ?? []) : [],
  )
  return targets[0]
}

/** Returns true if other packages may import a path of a package. A package without `exports` allows all paths. */
function isExported({ exports }: PackageManifest, path: string): boolean {
  if (exports === undefined) return true
  if (typeof exports !== 'object' || exports === null || Array.isArray(exports)) return path === '.'
  const names = Object.entries(exports).filter(([, target]) => target !== null)
  if (!names.some(([name]) => name.startsWith('.'))) return path === '.'
  return names.some(([name]) => {
    const [before = '', after] = name.split('*')
    return after === undefined ? name === path : path.startsWith(before) && path.endsWith(after)
  })
}

const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm
const imports =
  /(?:^|[\s;}])(?:import|export)\s*(?:[\w*{}\s,$]*\bfrom\s*)?(['"])([^'"\n]+)\1|\bimport\(\s*(['"])([^'"\n]+)\3/g

/** Returns the names of all modules that a source file imports. */
function findImports(source: string): readonly string[] {
  const text = source.replace(comments, '')
  return [...text.matchAll(imports)].map(([, , name, , computed]) => name ?? computed ?? '')
}

/** A package that was unpacked next to its dependencies. */
export interface UnpackedPackage {
  readonly folder: string
  readonly manifest: PackageManifest
  /** Returns the folder of an installed dependency. */
  readonly folderOf: (name: string) => string | undefined
}

/**
 * Returns the problems of all modules that the main file of a package loads: their format, missing files and undeclared
 * imports.
 */
export function findModuleProblems({ folder, manifest, folderOf }: UnpackedPackage): readonly VerifyProblem[] {
  const problems: VerifyProblem[] = []
  const listed = new Set([manifest.name, ...dependenciesOf(manifest)])
  const visited = new Set<string>()
  const shown = (file: string) => relative(folder, file).replaceAll(sep, '/')
  const visit = (file: string, importer: string) => {
    if (visited.has(file)) return
    visited.add(file)
    if (!existsSync(file) || statSync(file).isDirectory()) {
      problems.push(withLevel(verifyError('PLINTH_VERIFY_FILE_NOT_PACKED', { importer, file: shown(file) })))
      return
    }
    if (!/\.[cm]?[jt]s$/.test(file)) return
    if (/\.c[jt]s$/.test(file) || (!/\.m[jt]s$/.test(file) && manifest.type !== 'module')) {
      problems.push(withLevel(verifyError('PLINTH_VERIFY_NOT_ESM', { file: shown(file) })))
    }
    for (const name of findImports(readFileSync(file, 'utf8'))) check(name, file)
  }
  const check = (name: string, file: string) => {
    const importer = shown(file)
    if (/^\.{0,2}\//.test(name)) {
      const target = join(dirname(file), name)
      if (target.startsWith(folder + sep)) visit(target, importer)
      else problems.push(withLevel(verifyError('PLINTH_VERIFY_PRIVATE_IMPORT', { importer, name })))
      return
    }
    if (isBuiltin(name) || name.startsWith('#')) return
    const [, dependency = name, path = ''] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? []
    if (!listed.has(dependency)) {
      problems.push(withLevel(verifyError('PLINTH_VERIFY_DEPENDENCY_UNDECLARED', { importer, name: dependency })))
      return
    }
    const installed = dependency === manifest.name ? folder : folderOf(dependency)
    if (installed === undefined || isExported(readManifest(installed), `.${path}`)) return
    problems.push(withLevel(verifyError('PLINTH_VERIFY_PRIVATE_IMPORT', { importer, name })))
  }
  visit(join(folder, entryOf(manifest)), 'package.json')
  return problems
}
