import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { ApiDescription, FuzzRequest, Operation } from './requests.ts'

export interface FuzzResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
}

/** Patterns of texts that no response may contain. */
const inside: readonly RegExp[] = [
  /\n\s+at .+:\d+:\d+/,
  /node_modules|node:internal|\.ts:\d+/,
  /\bSQLITE_(?:ERROR|BUSY|CONSTRAINT|CANTOPEN)|SqliteError|syntax error at or near|\b(?:select|insert into|update|delete from) `\w/i,
  /\b(?:TypeError|RangeError|ReferenceError|SyntaxError)\b/,
  /Invalid regular expression/,
  /\$argon2/,
]

/** Returns a function that checks a response against the rules for every response. */
export function createResponseCheck(description: ApiDescription, secrets: readonly string[]) {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'description', components: description.components })
  const validators = new Map<object, ValidateFunction>()
  const validator = (schema: object) => {
    const known = validators.get(schema)
    if (known !== undefined) return known
    // References in the API description are relative to its root, so they need the id under which the description was
    // added.
    const made = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"description#/components')))
    validators.set(schema, made)
    return made
  }
  const failure = { $ref: '#/components/schemas/Failure' }

  const contentFor = (operation: Operation | undefined, status: number) =>
    (operation?.responses[status] ?? operation?.responses[`${Math.floor(status / 100)}XX`])?.content

  /** Returns the rules that the response violates; empty for a correct response. */
  return ({ operation, method }: FuzzRequest, { status, headers, body }: FuzzResponse): readonly string[] => {
    const broken: string[] = []
    const text = body.toString('latin1')
    const type = String(headers['content-type'] ?? '').split(';', 1)[0] ?? ''
    if (status >= 500) broken.push(`HTTP status ${status}`)
    const everything = `${JSON.stringify(headers)}\n${text}`
    for (const pattern of inside) if (pattern.test(everything)) broken.push(`shows ${pattern}`)
    for (const secret of secrets) if (everything.includes(secret)) broken.push('shows a secret')
    if (headers['x-injected'] !== undefined) broken.push('a header that the caller made up')
    if (status === 204 || status === 304 || method === 'HEAD' || (status >= 300 && status < 400)) return broken

    const content = contentFor(operation, status)
    if (type !== 'application/json') {
      const isDocumented = content !== undefined && (type in content || '*/*' in content)
      if (!isDocumented) broken.push(`media type ${type || 'none'} with status ${status}`)
      return broken
    }
    let response: { code?: unknown; message?: unknown }
    try {
      response = JSON.parse(body.toString())
    } catch {
      return [...broken, 'JSON that cannot be read']
    }
    const schema = status >= 400 ? failure : content?.['application/json']?.schema
    const isFree = schema === undefined && content !== undefined && 'application/json' in content
    if (!isFree && (operation !== undefined || status >= 400)) {
      if (typeof response?.code !== 'string' || typeof response.message !== 'string' || !('data' in response))
        broken.push('no envelope')
      if (response?.code === '500') broken.push('code 500')
    }
    if (operation !== undefined && schema === undefined && !isFree) broken.push(`status ${status} is not described`)
    if (schema !== undefined) {
      const check = validator(schema)
      if (!check(response)) broken.push(`schema: ${ajv.errorsText(check.errors).slice(0, 300)}`)
    }
    return broken
  }
}
