import type { RowScope } from '../routes/declaration.ts'

/** JSON Schema 2020-12 as in OpenAPI 3.1, with `x-sort`, `x-range` and `x-title`. */
export interface Schema {
  readonly [keyword: string]: unknown
  readonly title?: string
  readonly description?: string
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  /** Supported orders of a list. */
  readonly 'x-sort'?: readonly string[]
  readonly 'x-range'?: string
  /** Titles by language. */
  readonly 'x-title'?: Readonly<Record<string, string>>
}

type Contents = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

/** A parameter of an operation (OpenAPI 3.1, "Parameter Object"). */
export interface DescribedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
  /** Value that the schema allows. */
  readonly example?: unknown
}

/** An operation, with the product's extensions: `x-plugin`, `x-permission`, `x-data-scope` and `x-reasons`. */
export interface DescribedOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly deprecated?: boolean
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  /** Plugin that declares it. */
  readonly 'x-plugin': string
  /** Permission that the caller needs. */
  readonly 'x-permission'?: string
  /** Codes by the reasons with which this operation rejects. */
  readonly 'x-reasons': Readonly<Record<string, string>>
  /** Rows that the operation reaches. Present if it needs a permission. */
  readonly 'x-data-scope'?: RowScope
  readonly parameters?: readonly DescribedParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Contents }
  /** By status: `200` and `4XX`. */
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers?: object; readonly content: Contents }>
  >
}

/** Authentication method of callers (OpenAPI 3.1, "Security Scheme Object"). */
export interface SecurityScheme {
  readonly type: string
  readonly description?: string
  /** For `type` "http". */
  readonly scheme?: string
  /** For `type` "apiKey": "query", "header" or "cookie", and the name there. */
  readonly in?: string
  readonly name?: string
  /** For signatures: the lines of the canonical string, in order. */
  readonly 'x-canonical-string'?: readonly string[]
}

/** An OpenAPI 3.1 document. */
export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly {
    readonly name: string
    readonly description: string
    /** Descriptions by language. */
    readonly 'x-description': Readonly<Record<string, string>>
  }[]
  /** Envelope codes by the reasons of business errors, which `data.reason` contains. */
  readonly 'x-reasons': Readonly<Record<string, string>>
  /** Operations by path, with parameters in braces, and by method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}

/** Returns the schema of the payload in the envelope; `undefined` for an operation without an envelope. */
export function payloadOf({ responses }: Pick<DescribedOperation, 'responses'>): Schema | undefined {
  const response = responses['200']?.content['application/json']?.schema
  return response?.anyOf?.[0]?.properties?.['data']
}
