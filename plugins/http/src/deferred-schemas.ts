import { createRequire } from 'node:module'
import { PlinthError, reasonOf } from '@plinth/kernel'
import type { FastifySchema, FastifySchemaCompiler, FastifyServerOptions } from 'fastify'

type CompilersFactory = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type InputRoute = Parameters<FastifySchemaCompiler<FastifySchema>>[0]
type BuildSerializer = NonNullable<CompilersFactory['buildSerializer']>

/** Where a schema stands, as Fastify tells its compilers. */
interface Place {
  readonly method?: string
  readonly url?: string
  readonly httpPart?: string
  readonly httpStatus?: string
}

/** Schemas that were compiled before in this process: a test starts many products with the same routes. */
const proven = new Set<string>()

/**
 * The schemas of all routes, each compiled when its route is first used. Most routes of a product wait long for their
 * first request, and compiling them all would be a quarter of its start; so would be loading the compilers.
 */
export class DeferredSchemas {
  readonly #compilations: { readonly schema: string; readonly compile: () => unknown }[] = []
  readonly #compileInput: FastifySchemaCompiler<FastifySchema>

  constructor(compileInput: FastifySchemaCompiler<FastifySchema>) {
    this.#compileInput = compileInput
  }

  /** For Fastify's `schemaController`. */
  readonly compilers: CompilersFactory = {
    buildValidator: () => ((route: InputRoute) => this.#defer(route, () => this.#compileInput(route))) as never,
    buildSerializer: (shared, options) => {
      let compile: ReturnType<BuildSerializer> | undefined
      return (route) =>
        this.#defer(route, () => {
          compile ??= loadBuildSerializer()(shared, options)
          return compile(route)
        })
    },
  }

  /** Compiles what has not been used yet. Throws `PLINTH_HTTP_SCHEMA_INVALID` with every schema that cannot be used. */
  compileAll(): void {
    const faults = this.#compilations.flatMap(({ schema, compile }) => {
      if (proven.has(schema)) return []
      try {
        compile()
        proven.add(schema)
        return []
      } catch (error) {
        return [reasonOf(error)]
      }
    })
    if (faults.length > 0) throw invalidSchemas(faults)
  }

  #defer<A, B>(place: Place & { readonly schema?: unknown }, compile: () => (value: A) => B): (value: A) => B {
    let compiled: ((value: A) => B) | undefined
    const compileNow = () => {
      try {
        compiled ??= compile()
        return compiled
      } catch (error) {
        throw new Error(`${describe(place)}: ${reasonOf(error)}`, { cause: error })
      }
    }
    const kind = place.httpPart === undefined ? 'answer' : 'request'
    this.#compilations.push({ schema: `${kind} ${JSON.stringify(place.schema)}`, compile: compileNow })
    return (value) => (compiled ?? compileNow())(value)
  }
}

/** The serializers are those of Fastify, of the version that it brings. */
function loadBuildSerializer(): BuildSerializer {
  const fastify = createRequire(import.meta.url).resolve('fastify')
  return createRequire(fastify)('@fastify/fast-json-stringify-compiler')()
}

const describe = ({ method, url, httpPart, httpStatus }: Place) =>
  `${httpPart === undefined ? `answer ${httpStatus}` : `request (${httpPart})`} of ${method} ${url}`

const invalidSchemas = (faults: readonly string[]) =>
  new PlinthError(
    'PLINTH_HTTP_SCHEMA_INVALID',
    `Schemas of routes cannot be used:\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    'Correct the schemas; only what JSON Schema knows may stand in them.',
  )
