/**
 * A compiled template. It is data that `render` interprets, so that a manipulated row of the database cannot run code.
 */
export type Program = readonly Step[]

/** Step of a program: a literal text, a printed value, or a block. */
export type Step = string | PrintStep | BlockStep

interface PrintStep {
  readonly print: Expression
}

export interface BlockStep {
  readonly block: BlockName
  readonly of: Expression
  readonly body: Program
  readonly otherwise: Program
  /** Number of names that the block declares (`as |item index|`). Its body refers to them by position. */
  readonly names: number
}

/** Expression of a template. Its path follows only own properties of values, no inherited ones. */
export type Expression =
  /** The item of the block `up` levels outside. Outside all blocks, it is the variables. */
  | { readonly from: 'item'; readonly up: number; readonly path: readonly string[] }
  /** The variables (`@root.name`). */
  | { readonly from: 'variables'; readonly path: readonly string[] }
  /** A loop variable of the innermost `each`, such as `@index`. */
  | { readonly from: 'loop'; readonly name: LoopName }
  /**
   * A name that a block declares. `up` is the number of enclosing blocks to skip, and counts only blocks that declare
   * names.
   */
  | { readonly from: 'name'; readonly up: number; readonly at: number; readonly path: readonly string[] }
  | { readonly value: string | number | boolean | null }
  | {
      readonly call: HelperName
      readonly with: readonly Expression[]
      readonly options?: Readonly<Record<string, Expression>>
    }

export const blockNames = ['if', 'unless', 'each', 'with'] as const
export type BlockName = (typeof blockNames)[number]

export const dateStyles = ['short', 'medium', 'long', 'full'] as const

interface Helper {
  /** Minimum and maximum number of values. */
  readonly values: readonly [minimum: number, maximum: number]
  /** Allowed texts of the second value, if it is written in the template. */
  readonly choices?: readonly string[]
  /** Names of options; the last one is required. */
  readonly options?: readonly string[]
}

/** Helpers that write a value as the reader of the message expects it. A single word without values is a variable. */
export const formatHelpers = {
  date: { values: [1, 2], choices: dateStyles },
  time: { values: [1, 2], choices: dateStyles },
  dateTime: { values: [1, 2], choices: dateStyles },
  number: { values: [1, 1] },
  money: { values: [2, 2] },
  plural: { values: [1, 1], options: ['none', 'zero', 'one', 'two', 'few', 'many', 'other'] },
  relative: { values: [1, 1] },
  list: { values: [1, 2], choices: ['and', 'or'] },
} as const satisfies Readonly<Record<string, Helper>>
export type FormatName = keyof typeof formatHelpers

export const isFormatName = (name: string): name is FormatName => Object.hasOwn(formatHelpers, name)

export const helpers = {
  lookup: { values: [2, 2] },
  safeUrl: { values: [1, 1] },
  urlPart: { values: [1, 1] },
  ...formatHelpers,
} as const satisfies Readonly<Record<string, Helper>>
export type HelperName = keyof typeof helpers

export const helperOf = (name: HelperName): Helper => helpers[name]
export const isHelperName = (name: string | undefined): name is HelperName =>
  name !== undefined && Object.hasOwn(helpers, name)

export const loopNames = ['index', 'key', 'first', 'last'] as const
type LoopName = (typeof loopNames)[number]

export interface CompiledTemplate {
  readonly subject: Program
  readonly content: Program
  readonly html: Program | null
  /** See `TemplateInfo.variables`. */
  readonly variables: readonly string[]
}

/** True if paths in the body of the block start at another item. */
export const changesItemContext = (block: BlockName): boolean => block === 'each' || block === 'with'
