import { Tokenizer, type TokenizerCallbacks } from 'htmlparser2'

/** A document of another author, prepared for a frame in these pages. */
interface FramedHtml {
  readonly html: string
  /** Number of external pictures that were removed. */
  readonly heldBack: number
}

/** Removed elements: they load something, run code, or change the base URL. */
const dropped = new Set(['link', 'meta', 'base', 'script', 'iframe', 'frame', 'object', 'embed'])
const addresses = new Set(['src', 'background', 'srcset', 'poster', 'data', 'srcdoc', 'xlink:href'])
const pictures = new Set(['src', 'background'])

/** Default styles, as in a mail program. They apply only if the document sets no other style. */
const presets = [
  ':where(html){color-scheme:light;color:#000;font-family:sans-serif}',
  ':where(a[title]){color:#1a4fd6;text-decoration:underline}',
  ':where(img:not([src])){outline:1px dashed #999}',
].join('')

/**
 * Prepares a document for a frame. Returns the document with its styles and without content that the content policy of
 * the page would block. A frame that is created from text inherits this policy. Styles therefore need the nonce, and
 * `style` attributes become rules of a style sheet with the same precedence. A link shows its target but does not open
 * it. The sandbox of the frame blocks scripts and actions. Tags are read one by one and written in the same order, so
 * the browser handles their nesting.
 * @param nonce of the page
 * @param language language for screen readers, if the document declares none
 */
export function framedHtml(html: string, nonce: string, language: string): FramedHtml {
  const rewriting = new Rewriting(html, nonce)
  const tokenizer = new Tokenizer({ decodeEntities: true }, rewriting)
  tokenizer.write(html)
  tokenizer.end()
  const { parts, rules, heldBack } = rewriting
  const sheet = (css: string) => `<style nonce="${nonce}">${css.replaceAll('</', '<\\/')}</style>`
  const root = rewriting.hasLanguage ? '' : `<html lang="${language}">`
  return { html: `<!doctype html>${root}${sheet(presets)}${sheet(rules.join('\n'))}${parts.join('')}`, heldBack }
}

/** Writes each tag and text of the tokenizer in a safe form. Comments and declarations are omitted. */
class Rewriting implements TokenizerCallbacks {
  readonly parts: string[] = []
  /** Rules that were created from `style` attributes, in their order. */
  readonly rules: string[] = []
  heldBack = 0
  hasLanguage = false
  readonly #source: string
  readonly #nonce: string
  #tag = ''
  #kept = ''
  #member = ''
  #value = ''
  /** Name of the `style` or `script` element that is being read. Its content is not text. */
  #inside = ''

  constructor(source: string, nonce: string) {
    this.#source = source
    this.#nonce = nonce
  }

  readonly ontext = (start: number, end: number) => {
    const text = this.#source.slice(start, end)
    if (this.#inside === 'style') this.parts.push(withoutLoads(text).replaceAll('</', '<\\/'))
    else if (this.#inside === '') this.parts.push(text)
  }

  readonly ontextentity = (code: number) => void this.parts.push(`&#${code};`)

  readonly onopentagname = (start: number, end: number) => {
    this.#tag = this.#source.slice(start, end).toLowerCase()
    this.#kept = ''
  }

  readonly onattribname = (start: number, end: number) => {
    this.#member = this.#source.slice(start, end).toLowerCase()
    this.#value = ''
  }

  readonly onattribdata = (start: number, end: number) => {
    this.#value += this.#source.slice(start, end)
  }

  readonly onattribentity = (code: number) => {
    this.#value += String.fromCodePoint(code)
  }

  readonly onattribend = () => {
    const member = this.#member
    const value = this.#value
    if (member === 'style') this.#keepStyle(value)
    else if (addresses.has(member) && !/^\s*data:image\//i.test(value)) {
      if (pictures.has(member)) this.heldBack += 1
    } else if (member === 'href') {
      if (this.#tag === 'a' || this.#tag === 'area') this.#keep('title', value)
    } else if (!member.startsWith('on')) this.#keep(member, value)
  }

  readonly onopentagend = () => this.#open('>')
  readonly onselfclosingtag = () => this.#open('/>')

  readonly onclosetag = (start: number, end: number) => {
    const name = this.#source.slice(start, end).toLowerCase()
    this.#inside = ''
    if (!dropped.has(name)) this.parts.push(`</${name}>`)
  }

  readonly oncdata = () => {}
  readonly oncomment = () => {}
  readonly ondeclaration = () => {}
  readonly onprocessinginstruction = () => {}
  readonly onend = () => {}

  #open(end: string): void {
    const name = this.#tag
    if (name === 'style' || name === 'script') this.#inside = name
    if (dropped.has(name)) return
    this.parts.push(`<${name}${name === 'style' ? ` nonce="${this.#nonce}"` : ''}${this.#kept}${end}`)
  }

  #keep(name: string, value: string): void {
    if (name === 'lang' && this.#tag === 'html' && value !== '') this.hasLanguage = true
    this.#kept += ` ${name}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`
  }

  #keepStyle(value: string): void {
    const css = withoutLoads(value)
    // A style with braces or unbalanced parentheses could end its rule early, so it is omitted.
    if (/[{}]/.test(css) || css.split('(').length !== css.split(')').length) return
    this.#keep('data-style', String(this.rules.length))
    this.rules.push(`[data-style="${this.rules.length}"]:not(#s#s#s){${css}\n/**/}`)
  }
}

/** Removes fonts and pictures that would be loaded from other addresses. */
const withoutLoads = (css: string) =>
  css
    .replace(/@import\s*(?:url\([^)]*\)|"[^"]*"|'[^']*')?[^;{}]*;?/gi, '')
    .replace(/url\((?!\s*["']?data:)[^)]*\)/gi, 'none')
