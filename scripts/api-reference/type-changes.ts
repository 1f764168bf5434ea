/** Compares the types of two releases with the TypeScript compiler. */
import ts from 'typescript'

/** The declaration files of one module in two releases. */
export interface DeclarationPair {
  /** Package and subpath. */
  readonly module: string
  readonly before: string
  readonly now: string
}

export interface TypeChange {
  /** `binary`: a member of a class is gone. `source`: code that uses the earlier types may not compile. */
  readonly kind: 'binary' | 'source'
  readonly module: string
  readonly detail: string
}

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
  strict: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: [],
}

/**
 * Returns the changes of all modules. A type counts as the same if values of both releases may replace each other, so
 * other comments, names and orders are no changes.
 */
export function findTypeChanges(pairs: readonly DeclarationPair[]): readonly TypeChange[] {
  const host = ts.createCompilerHost(options)
  const { readFile } = host
  host.readFile = (name) => (/\.d\.[cm]?ts$/.test(name) ? withoutIdentities(readFile(name)) : readFile(name))
  const program = ts.createProgram({ rootNames: pairs.flatMap(({ before, now }) => [before, now]), options, host })
  const comparison = new TypeComparison(program)
  return pairs.flatMap((pair) => comparison.changes(pair))
}

/**
 * Returns a declaration file without private members and unique symbols. The compiler treats them as different in each
 * file, even if their declarations are equal.
 */
const withoutIdentities = (text: string | undefined) =>
  text
    ?.replace(/^\s*#private;$/gm, '')
    .replace(/^\s*private\s.*;$/gm, '')
    .replace(/\bunique symbol\b/g, 'symbol')

class TypeComparison {
  readonly #program: ts.Program
  readonly #checker: ts.TypeChecker
  readonly #printer = ts.createPrinter({ removeComments: true })

  constructor(program: ts.Program) {
    this.#program = program
    this.#checker = program.getTypeChecker()
  }

  changes({ module, before, now }: DeclarationPair): readonly TypeChange[] {
    const [was, is] = [this.#exportsOf(before), this.#exportsOf(now)]
    return [...was].flatMap(([name, earlier]) => {
      const current = is.get(name)
      const source = (detail: string): TypeChange => ({ kind: 'source', module, detail })
      if (current === undefined) return [source(`declaration of "${name}" is gone`)]
      const gone = this.#goneFields(earlier, current)
      const fields = gone.map((member): TypeChange => {
        return { kind: 'binary', module, detail: `member "${name}.prototype.${member}" is gone` }
      })
      return this.#isSame(earlier, current) ? fields : [...fields, source(`type of "${name}" changed`)]
    })
  }

  #exportsOf(file: string): ReadonlyMap<string, ts.Symbol> {
    const source = this.#program.getSourceFile(file)
    const symbol = source && this.#checker.getSymbolAtLocation(source)
    const exported = symbol === undefined ? [] : this.#checker.getExportsOfModule(symbol)
    return new Map(exported.map((one) => [one.name, this.#resolve(one)]))
  }

  #resolve(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  #isSame(was: ts.Symbol, is: ts.Symbol): boolean {
    const meanings = [ts.SymbolFlags.Value, ts.SymbolFlags.Type]
    if (meanings.some((meaning) => Boolean(was.flags & meaning) !== Boolean(is.flags & meaning))) return false
    if (
      was.flags & ts.SymbolFlags.Value &&
      !this.#isEqual(this.#checker.getTypeOfSymbol(was), this.#checker.getTypeOfSymbol(is))
    )
      return false
    if (!(was.flags & ts.SymbolFlags.Type)) return true
    // Types with parameters cannot be compared without arguments, so their declarations are.
    if ([was, is].some((one) => this.#hasParameters(one))) return this.#declarationOf(was) === this.#declarationOf(is)
    return this.#isEqual(this.#checker.getDeclaredTypeOfSymbol(was), this.#checker.getDeclaredTypeOfSymbol(is))
  }

  #isEqual(was: ts.Type, is: ts.Type): boolean {
    const isAny = (type: ts.Type) => Boolean(type.flags & ts.TypeFlags.Any)
    if (isAny(was) !== isAny(is)) return false
    return (
      this.#checker.isTypeAssignableTo(is, was) &&
      this.#checker.isTypeAssignableTo(was, is) &&
      this.#hasSameNames(was, is)
    )
  }

  /** Assignability ignores additional and missing optional members. Code may use the missing ones. */
  #hasSameNames(was: ts.Type, is: ts.Type): boolean {
    if (was.isUnion() || is.isUnion()) return true
    const left = new Set(is.getProperties().map(({ name }) => name))
    return was.getProperties().every(({ name }) => left.has(name))
  }

  /** Returns the public fields and methods of instances that a class does not have any more. */
  #goneFields(was: ts.Symbol, is: ts.Symbol): readonly string[] {
    if (!(was.flags & ts.SymbolFlags.Class) || !(is.flags & ts.SymbolFlags.Class)) return []
    const namesOf = (symbol: ts.Symbol) =>
      this.#checker
        .getDeclaredTypeOfSymbol(symbol)
        .getProperties()
        .map(({ name }) => name)
    const left = new Set(namesOf(is))
    return namesOf(was).filter((name) => !left.has(name))
  }

  #hasParameters({ declarations = [] }: ts.Symbol): boolean {
    return declarations.some((one) => 'typeParameters' in one && one.typeParameters !== undefined)
  }

  #declarationOf({ declarations = [] }: ts.Symbol): string {
    const texts = declarations.map((one) => this.#printer.printNode(ts.EmitHint.Unspecified, one, one.getSourceFile()))
    return texts.sort().join('\n').replace(/\s+/g, ' ')
  }
}
