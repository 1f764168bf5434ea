import type { RowVisibility } from '../routes/declaration.ts'

/** JSON Schema 2020-12 in OpenAPI 3.1, with the extensions `x-sort`, `x-filter`, `x-range` and `x-title`. */
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
  /** Properties that a list can be sorted by. */
  readonly 'x-sort'?: readonly string[]
  /** Operators by column. */
  readonly 'x-filter'?: Readonly<Record<string, readonly string[]>>
  readonly 'x-range'?: string
  readonly 'x-title'?: Readonly<Record<string, string>>
}

type Contents = Readonly<Record<string, { readonly schema?: Schema; readonly example?: unknown }>>

export interface DescribedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: unknown
}

/** An operation of OpenAPI 3.1, with `x-plugin`, `x-permission`, `x-data-scope`, `x-fresh-proof` and `x-reasons`. */
export interface DescribedOperation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly deprecated?: boolean
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-plugin': string
  readonly 'x-permission'?: string
  /** Envelope codes by reason, for the errors of this operation. */
  readonly 'x-reasons': Readonly<Record<string, string>>
  /** Rows that the operation may reach; present if the operation requires a permission. */
  readonly 'x-data-scope'?: RowVisibility
  /** Maximum age of the caller's last proof of identity in seconds; see `RouteDeclaration.fresh`. */
  readonly 'x-fresh-proof'?: number
  readonly parameters?: readonly DescribedParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Contents }
  /** Responses by HTTP status: `200`, `4XX` and `503`. */
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers?: object; readonly content: Contents }>
  >
}

/** How callers prove their identity (OpenAPI 3.1, "Security Scheme Object"). */
export interface SecurityScheme {
  readonly type: string
  readonly description?: string
  /** For `type` "http": the scheme, for example "bearer". */
  readonly scheme?: string
  /** For `type` "apiKey": where the caller sends the key ("query", "header" or "cookie"), and under which name. */
  readonly in?: string
  readonly name?: string
  /** For signatures: the lines of the text that the caller must sign, in order. */
  readonly 'x-canonical-string'?: readonly string[]
}

export interface ApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly {
    readonly name: string
    readonly description: string
    readonly 'x-description': Readonly<Record<string, string>>
  }[]
  /** Envelope codes by reason, for all business errors of the product. */
  readonly 'x-reasons': Readonly<Record<string, string>>
  /** Operations by path and method. Parameters in paths are in braces, methods in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}

/** Returns the schema of `data` in a success; `undefined` for an operation without an envelope. */
export function payloadOf({ responses }: Pick<DescribedOperation, 'responses'>): Schema | undefined {
  const response = responses['200']?.content['application/json']?.schema
  return response?.anyOf?.[0]?.properties?.['data']
}
