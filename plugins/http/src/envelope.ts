import type { TSchema } from 'typebox'
import { Type } from './schemas/schema-builders.ts'

export const successCode = '200'
const successMessage = 'success'

/** Media type of every envelope. */
export const envelopeType = 'application/json; charset=utf-8'

/** Goes with every envelope: it is data, never a page. */
export const noSniff = { name: 'x-content-type-options', value: 'nosniff' } as const

/** Puts the payload in its envelope. `data` is always there: a handler that answers nothing answers null. */
export function success(data: unknown): Record<string, unknown> {
  return { code: successCode, message: successMessage, data: data === undefined ? null : data }
}

/** Schema of a success. Code and message are constants, so the serializer writes them without looking. */
export function successSchema(data: TSchema): TSchema {
  return Type.Object({ code: Type.Literal(successCode), message: Type.Literal(successMessage), data })
}

/** Schema of every answer that is no success, for the API description. */
export const failureSchema = Type.Object(
  {
    code: Type.String({
      description: 'Result code; never "200".',
      examples: ['400', '401', '403', '404', '409', '429'],
    }),
    message: Type.String({ description: 'Text for people, in the language of the request.' }),
    data: Type.Union([
      Type.Object(
        {
          reason: Type.Optional(Type.String({ description: 'Stable dotted code of the exact reason.' })),
          field: Type.Optional(Type.String({ description: 'Member of the request that it is about.' })),
          errors: Type.Optional(
            Type.Array(Type.Object({ field: Type.String(), rule: Type.String(), message: Type.String() }), {
              description: 'Every broken rule of the input.',
            }),
          ),
        },
        { additionalProperties: true },
      ),
      Type.Null(),
    ]),
  },
  { description: 'A failure. Business failures come with HTTP status 200.' },
)

/** Text of a failure envelope. A payload that JSON cannot carry is left out rather than failing the failure. */
export function failureText(code: string, message: string, data: object | null): string {
  try {
    return JSON.stringify({ code, message, data })
  } catch {
    return JSON.stringify({ code, message, data: null })
  }
}
