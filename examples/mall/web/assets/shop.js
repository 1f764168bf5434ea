import { texts } from './texts.js'

/** Time limit of a call. */
const deadlineMs = 15_000

const asked = new URLSearchParams(location.search).get('lang') ?? document.documentElement.dataset.language ?? 'en'
/** Language of the page: that of the address, or that of the browser. */
export const language = asked in texts ? asked : asked.startsWith('zh') ? 'zh-CN' : 'en'

/** Returns a text in the language of the page. */
export const translate = (key, params = {}) =>
  texts[language][key].replace(/\{(\w+)\}/g, (_, name) => String(params[name] ?? ''))

const numbers = new Intl.NumberFormat(language)
const signed = new Intl.NumberFormat(language, { signDisplay: 'exceptZero' })
export const number = (value) => numbers.format(value)
export const change = (value) => signed.format(value)

/** Time zone of the shop. */
const timeZone = document.documentElement.dataset.timeZone || undefined
const moments = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', timeZone })
export const moment = (value) => moments.format(new Date(value))

/** Error of a call; `code` is empty if there was no response. */
export class Refusal extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

/**
 * Calls the API and returns the payload of the response.
 *
 * @throws Refusal
 */
export async function call(method, path, { query = {}, body } = {}) {
  const url = new URL(`../../api/v1/${path}`, document.baseURI)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const headers = { accept: 'application/json', 'accept-language': language }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  if (body !== undefined) headers['content-type'] = 'application/json'
  let answer
  try {
    const signal = AbortSignal.timeout(deadlineMs)
    answer = await (await fetch(url, { method, headers, signal, cache: 'no-store', ...sent })).json()
  } catch {
    throw new Refusal('', translate('away'))
  }
  if (answer.code === '200') return answer.data
  throw new Refusal(String(answer.code ?? ''), answer.message || translate('away'))
}

/** Creates an element. Attributes that are undefined or false, and children that are false, are omitted. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key, value)
    else if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value)
  }
  made.append(...children.flat().filter((child) => child !== false && child !== undefined))
  return made
}

export const byId = (id) => document.getElementById(id)
