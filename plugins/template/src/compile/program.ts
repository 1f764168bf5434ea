/**
 * What a template is compiled to when it is saved: data, which `render` walks. Nothing of it is ever run as code, so what
 * stands in the database cannot become code either.
 */
export type Program = readonly Step[]

/** Literal text, a value that is printed, or a block. */
export type Step = string | PrintStep | BlockStep

interface PrintStep {
  readonly print: Expression
}

export interface BlockStep {
  readonly block: BlockName
  readonly of: Expression
  readonly body: Program
  readonly otherwise: Program
  /** How many names the block gives its items (`as |item index|`): its body refers to them by position. */
  readonly names: number
}

/** Where a value comes from. A path is walked through own members alone. */
export type Expression =
  /** From the item of the block that is `up` blocks out; beyond the outermost are the variables. */
  | { readonly from: 'item'; readonly up: number; readonly path: readonly string[] }
  /** From the variables (`@root.name`). */
  | { readonly from: 'variables'; readonly path: readonly string[] }
  /** What the innermost `each` says of itself (`@index`). */
  | { readonly from: 'loop'; readonly name: LoopName }
  /** From the named item of the block with names that is `up` such blocks out. */
  | { readonly from: 'name'; readonly up: number; readonly at: number; readonly path: readonly string[] }
  | { readonly value: string | number | boolean | null }
  | { readonly call: HelperName; readonly with: readonly Expression[] }

/** The closed list of blocks. */
export const blockNames = ['if', 'unless', 'each', 'with'] as const
export type BlockName = (typeof blockNames)[number]

/** The closed list of helpers, with how many values each takes. */
export const helpers = { lookup: 2, safeUrl: 1 } as const
export type HelperName = keyof typeof helpers

export const loopNames = ['index', 'key', 'first', 'last'] as const
type LoopName = (typeof loopNames)[number]

/** A whole template. */
export interface CompiledTemplate {
  readonly subject: Program
  readonly content: Program
  readonly html: Program | null
  /** See `TemplateInfo.variables`. */
  readonly variables: readonly string[]
}

/** Names and paths that two blocks nest in: those that change what a path begins at. */
export const entersItem = (block: BlockName): boolean => block === 'each' || block === 'with'
