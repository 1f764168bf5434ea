/**
 * Finds the position in HTML at which a text ends. Escaping makes a value safe only in text and in quoted attribute
 * values. If a placeholder is at another position, the template is rejected when it is saved.
 */
import type { SourceRule } from './source.ts'

type Mode =
  | 'text'
  /** After a `<`. */
  | 'open'
  | 'declaration'
  | 'comment'
  | 'closing'
  | 'element'
  /** Inside a tag, between two attributes. */
  | 'tag'
  | 'attribute'
  | 'after-attribute'
  | 'before-value'
  | 'value'
  /** Inside an element whose content is not HTML. */
  | 'raw'

/**
 * State of a URL. `safe`: the literal text already proves that the URL is harmless. `query`: also, the position is in its
 * query or fragment.
 */
type Address = 'start' | 'undecided' | 'safe' | 'query'

export interface HtmlState {
  readonly mode: Mode
  readonly element: string
  readonly attribute: string
  readonly quote: string
  readonly address: Address
  /** Beginning of an undecided URL, or of the value of an attribute that has only certain allowed values. */
  readonly begun: string
}

export const initialHtmlState: HtmlState = {
  mode: 'text',
  element: '',
  attribute: '',
  quote: '',
  address: 'start',
  begun: '',
}

export class HtmlError extends Error {
  override readonly name = 'HtmlError'
  readonly rule: SourceRule
  /** Text at the position of the error. Undefined if the error concerns the placeholder itself. */
  readonly near: string | undefined

  constructor(rule: SourceRule, near?: string) {
    super(rule)
    this.rule = rule
    this.near = near
  }
}

/** Rejected elements. They run code, embed other documents, or change the URLs and forms of the document. */
const rejectedElements: ReadonlySet<string> = new Set([
  'script',
  'iframe',
  'frame',
  'frameset',
  'object',
  'embed',
  'applet',
  'base',
  'form',
  'animate',
  'animatemotion',
  'animatetransform',
  'set',
])
/**
 * Allowed values of attributes that decide what an element does: `refresh`, for example, would open another page. The
 * literal text is compared, so values with character references (`&#102;`) are rejected too.
 */
const allowedValues: Readonly<Record<string, readonly string[]>> = {
  'meta http-equiv': ['content-type', 'content-language', 'x-ua-compatible'],
  'link rel': ['stylesheet'],
}
const rawElements = ['style', 'title', 'textarea', 'xmp', 'noembed', 'noframes']
/**
 * Patterns that find the end tag of an element. They search in the whole text, because copying the rest of the text
 * would take quadratic time.
 */
const rawEndTags: ReadonlyMap<string, RegExp> = new Map(
  rawElements.map((name) => [name, new RegExp(`</${name}`, 'gi')]),
)
const addressAttributes: ReadonlySet<string> = new Set([
  'href',
  'src',
  'srcset',
  'action',
  'formaction',
  'background',
  'poster',
  'cite',
  'data',
  'xlink:href',
])
const schemes = /^(?:https?|mailto|tel|cid):/i
const relative = /^[/#?.]/

export function advanceHtmlState(state: HtmlState, text: string): HtmlState {
  let now = state
  let at = 0
  while (at < text.length) {
    const [next, end] = steps[now.mode](now, text, at)
    now = next
    at = end
  }
  return now
}

type Advance = (state: HtmlState, text: string, at: number) => readonly [HtmlState, end: number]

/** Skips the text up to a mark. If the mark does not occur, the state stays unchanged. */
function upTo(mark: string, text: string, at: number, state: HtmlState, next: Mode): readonly [HtmlState, number] {
  const found = text.indexOf(mark, at)
  return found < 0 ? [state, text.length] : [{ ...state, mode: next }, found + mark.length]
}

const skipping = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return at + (pattern.exec(text)?.[0].length ?? 0)
}

const conditional = /!--\[if[^\]>]*\]>/y
const emptyComment = /!--(?:-?>)/y
const nameEnd = /[^\s/>]*/y
const attributeEnd = /[^\s/>=]*/y
const blanks = /\s*/y
const betweenAttributes = /[\s/]*/y

const steps: Readonly<Record<Mode, Advance>> = {
  text: (state, text, at) => upTo('<', text, at, state, 'open'),
  open(state, text, at) {
    // The content of conditional comments is checked like other HTML, because some mail programs render it.
    for (const whole of [conditional, emptyComment]) {
      const end = skipping(whole, text, at)
      if (end > at) return [{ ...state, mode: 'text' }, end]
    }
    if (text.startsWith('!--', at)) return [{ ...state, mode: 'comment' }, at + 3]
    const [character = ''] = text.slice(at, at + 1)
    if (character === '!' || character === '?') return [{ ...state, mode: 'declaration' }, at + 1]
    if (character === '/') return [{ ...state, mode: 'closing' }, at + 1]
    return [{ ...state, mode: /[a-z]/i.test(character) ? 'element' : 'text', element: '' }, at]
  },
  declaration: (state, text, at) => upTo('>', text, at, state, 'text'),
  comment: (state, text, at) => upTo('-->', text, at, state, 'text'),
  closing: (state, text, at) => upTo('>', text, at, { ...state, element: '' }, 'text'),
  element(state, text, at) {
    const end = skipping(nameEnd, text, at)
    const element = state.element + text.slice(at, end).toLowerCase()
    if (end === text.length) return [{ ...state, element }, end]
    if (rejectedElements.has(element)) throw new HtmlError('element-refused', `<${element}`)
    return [{ ...state, element, mode: 'tag' }, end]
  },
  tag(state, text, at) {
    const end = skipping(betweenAttributes, text, at)
    if (end > at) return [state, end]
    if (text[at] !== '>') return [{ ...state, mode: 'attribute', attribute: '' }, at]
    return [rawEndTags.has(state.element) ? { ...state, mode: 'raw' } : initialHtmlState, at + 1]
  },
  attribute(state, text, at) {
    // A `=` at the start belongs to the name of the attribute (HTML Standard, 13.2.5.32).
    const end = skipping(attributeEnd, text, state.attribute === '' && text[at] === '=' ? at + 1 : at)
    const attribute = state.attribute + text.slice(at, end).toLowerCase()
    if (attribute.startsWith('on')) throw new HtmlError('element-refused', attribute)
    return [{ ...state, attribute, mode: end === text.length ? 'attribute' : 'after-attribute' }, end]
  },
  'after-attribute'(state, text, at) {
    const end = skipping(blanks, text, at)
    if (end > at) return [state, end]
    return text[at] === '=' ? [{ ...state, mode: 'before-value' }, at + 1] : [inTagOf(state), at]
  },
  'before-value'(state, text, at) {
    const end = skipping(blanks, text, at)
    if (end > at) return [state, end]
    const quote = text[at] ?? ''
    if (quote !== '"' && quote !== "'") throw new HtmlError('unquoted-attribute', state.attribute)
    return [{ ...state, mode: 'value', quote, address: 'start', begun: '' }, at + 1]
  },
  value(state, text, at) {
    const found = text.indexOf(state.quote, at)
    const end = found < 0 ? text.length : found
    const allowed = allowedOf(state)
    const written = text.slice(at, end)
    const judged = allowed === undefined ? judgeAddress(state, written) : { ...state, begun: state.begun + written }
    if (found < 0) return [judged, end]
    if (allowed?.includes(judged.begun.trim().toLowerCase()) === false) {
      throw new HtmlError('element-refused', `${state.attribute}="${judged.begun}"`)
    }
    return [inTagOf(state), end + 1]
  },
  raw(state, text, at) {
    const endTag = rawEndTags.get(state.element) as RegExp
    endTag.lastIndex = at
    const found = endTag.exec(text)
    return found === null ? [state, text.length] : [{ ...state, mode: 'closing' }, found.index + 2]
  },
}

/** Returns the state inside a tag, without the attribute that has ended. */
const inTagOf = ({ element }: HtmlState): HtmlState => ({ ...initialHtmlState, mode: 'tag', element })

const allowedOf = ({ element, attribute }: HtmlState) => allowedValues[`${element} ${attribute}`]

const isAddress = ({ attribute }: HtmlState) => addressAttributes.has(attribute)

const isSafe = ({ address }: HtmlState) => address === 'safe' || address === 'query'

/** True if a value here is in the query or fragment of a URL, where it must be percent-encoded. */
export const isInUrlQuery = (state: HtmlState): boolean =>
  state.mode === 'value' && isAddress(state) && state.address === 'query'

/**
 * Begins the query of a safe URL. `&` begins it too, because a URL that `safeUrl` printed may already have a query.
 */
const withQuery = (state: HtmlState, text: string): HtmlState =>
  state.address === 'safe' && /[?#&]/.test(text) ? { ...state, address: 'query' } : state

/**
 * Checks the beginning of a URL. Control characters and blanks are removed, because browsers ignore them at the start.
 */
function judgeAddress(state: HtmlState, text: string): HtmlState {
  if (!isAddress(state)) return state
  if (isSafe(state)) return withQuery(state, text)
  const begun = `${state.begun}${text}`.replace(/[\p{Cc}\s]/gu, '').slice(0, 64)
  if (begun === '') return state
  if (relative.test(begun) || schemes.test(begun)) return withQuery({ ...state, address: 'safe', begun: '' }, text)
  // A character reference (`&#115;`, `&colon;`) in a value could complete a scheme like `javascript:`.
  if (/^[^/?#]*[:&]/.test(begun)) throw new HtmlError('address-unsafe', begun)
  return withQuery({ ...state, address: /[/?#]/.test(begun) ? 'safe' : 'undecided', begun }, text)
}

/**
 * Returns the state after a printed value.
 *
 * @param isSafeUrl true for a value of the helper `safeUrl`
 * @throws HtmlError at a position where escaping is not sufficient
 */
export function stateAfterValue(state: HtmlState, isSafeUrl: boolean): HtmlState {
  const { mode, element, attribute } = state
  if (mode === 'text' || (mode === 'raw' && (element === 'title' || element === 'textarea'))) return state
  if (mode === 'before-value') throw new HtmlError('unquoted-attribute', attribute)
  if (mode !== 'value') throw new HtmlError(inTag.includes(mode) ? 'attribute-name' : 'no-value-here')
  if (attribute === 'style' || allowedOf(state) !== undefined) throw new HtmlError('no-value-here')
  if (!isAddress(state) || isSafe(state)) return state
  if (state.address === 'start' && isSafeUrl) return { ...state, address: 'safe' }
  throw new HtmlError('address-unsafe')
}

const inTag: readonly Mode[] = ['element', 'tag', 'attribute', 'after-attribute']

/**
 * Checks the position of a block. Its text is optional and must not change the meaning of the text around it.
 *
 * @throws HtmlError if the text could change it
 */
export function assertBlockAllowed(state: HtmlState): void {
  const { mode, attribute, element } = state
  if (mode === 'text' || mode === 'tag') return
  if (mode === 'value' && attribute !== 'style' && allowedOf(state) === undefined) return
  if (mode === 'raw' && element !== 'style') return
  throw new HtmlError(mode === 'before-value' ? 'unquoted-attribute' : 'no-value-here')
}

/**
 * Joins the states after two branches of a block, of which only one is rendered.
 *
 * @throws HtmlError if the branches end in different states
 */
export function joinBranchStates(one: HtmlState, other: HtmlState): HtmlState {
  const members = ['mode', 'element', 'attribute', 'quote'] as const
  if (members.some((name) => one[name] !== other[name])) throw new HtmlError('branches-differ')
  const addressIsSame = one.address === other.address && one.begun === other.begun
  if (!addressIsSame && isSafe(one) && isSafe(other)) return { ...one, address: 'query', begun: '' }
  return addressIsSame ? one : { ...one, address: 'undecided', begun: '-' }
}
