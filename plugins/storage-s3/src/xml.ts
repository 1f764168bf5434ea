import { XMLParser } from 'fast-xml-parser'

/** Keys are text: they must not be trimmed or converted to numbers. */
const parser = new XMLParser({ ignoreAttributes: true, parseTagValue: false, trimValues: false, htmlEntities: true })

/** A node of an XML document of S3. Missing nodes are empty. */
export class XmlNode {
  readonly #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  has(name: string): boolean {
    return this.#member(name) !== undefined
  }

  child(name: string): XmlNode {
    return new XmlNode(this.#member(name))
  }

  /** Returns the nodes with this name. */
  all(name: string): XmlNode[] {
    const found = this.#member(name)
    if (found === undefined) return []
    return (Array.isArray(found) ? found : [found]).map((one) => new XmlNode(one))
  }

  /** Returns the text of a child node, or an empty string. */
  text(name: string): string {
    const found = this.#member(name)
    return typeof found === 'string' ? found : ''
  }

  #member(name: string): unknown {
    const isObject = typeof this.#value === 'object' && this.#value !== null
    return isObject && Object.hasOwn(this.#value as object, name) ? Reflect.get(this.#value as object, name) : undefined
  }
}

/** Parses a document. A text that is not XML results in an empty node. */
export function parseXml(text: string): XmlNode {
  try {
    return new XmlNode(text.trimStart().startsWith('<') ? parser.parse(text) : undefined)
  } catch {
    return new XmlNode(undefined)
  }
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
export const escapeXml = (text: string): string => text.replace(/[&<>"]/g, (sign) => escapes[sign] ?? sign)
