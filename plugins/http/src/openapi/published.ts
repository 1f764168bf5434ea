import { formatDuration } from '@plinth/kernel/host'
import {
  type ApiDocument,
  type DescribedOperation,
  type DescribedParameter,
  payloadOf,
  type Schema,
} from './document.ts'
import { exampleOf } from './example-values.ts'
import { withNamedSchemas } from './named-schemas.ts'

/**
 * Returns the API description for callers and client generators, with descriptions, examples and named schemas. The
 * back office uses the original document.
 */
export function publishedApi(document: ApiDocument): ApiDocument {
  const { schemas } = document.components
  const paths = Object.entries(document.paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [method, withExamples(operation, schemas)]),
    ),
  ])
  return withNamedSchemas({ ...document, paths: Object.fromEntries(paths) })
}

type Schemas = ApiDocument['components']['schemas']

function withExamples(operation: DescribedOperation, schemas: Schemas): DescribedOperation {
  const { parameters, requestBody, responses } = operation
  const { 200: success, ...others } = responses
  const payload = payloadOf(operation)
  const data =
    payload === undefined ? undefined : { code: '200', message: 'success', data: exampleOf(payload, schemas) }
  return {
    ...operation,
    description: operation.description ?? `${operation.summary}. ${accessText(operation)}`,
    ...(parameters && { parameters: parameters.map((one) => describedParameter(one, schemas)) }),
    ...(requestBody && { requestBody: { ...requestBody, content: bodyExamples(requestBody.content, schemas) } }),
    responses: {
      ...(success && {
        200: data === undefined ? success : { ...success, content: withExample(success.content, () => data) },
      }),
      ...others,
    },
  }
}

type Contents = DescribedOperation['responses'][string]['content']

const withExample = (contents: Contents, example: (schema: Schema) => unknown): Contents =>
  Object.fromEntries(
    Object.entries(contents).map(([type, content]) => [
      type,
      content.schema === undefined ? content : { ...content, example: example(content.schema) },
    ]),
  )

const bodyExamples = (contents: Contents, schemas: Schemas) =>
  withExample(contents, (schema) => exampleOf(schema, schemas))

function describedParameter(parameter: DescribedParameter, schemas: Schemas): DescribedParameter {
  const { name, schema, description = `${schema.title ?? name}.` } = parameter
  const example = exampleOf(schema, schemas)
  return { ...parameter, description, ...(example === undefined ? {} : { example }) }
}

const scopeTexts = {
  caller: 'It reaches the rows in the data scope of the caller.',
  all: 'Only callers with the data scope `all` are admitted.',
  none: 'It reaches no rows of users or organisations.',
}

function accessText(operation: DescribedOperation): string {
  const { security, 'x-permission': permission, 'x-data-scope': scope, 'x-fresh-proof': maxAge } = operation
  const fresh = maxAge === undefined ? '' : ` ${freshText(maxAge)}`
  if (permission !== undefined)
    return [`Requires the permission \`${permission}\`.`, scope && scopeTexts[scope]].filter(Boolean).join(' ') + fresh
  if (security.length === 0) return 'Requires no sign-in.'
  const isUser = security.some((way) => 'bearer' in way)
  return isUser ? `Requires a signed-in user.${fresh}` : 'Requires a signed request.'
}

const freshText = (seconds: number) =>
  `If fresh proofs are enabled, the caller must have proved their identity within the last ${formatDuration(seconds * 1000)}.`
