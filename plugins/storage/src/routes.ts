import type { HttpServer, RawRouteDeclaration } from '@plinth/http'
import { BusinessError } from '@plinth/kernel'
import { type Static, Type } from 'typebox'
import { longestName, publicRoute, type StorageService, signedRoute } from './storage-service.ts'
import type { UrlSigner } from './url-signer.ts'

const diskName = Type.String({ pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$', maxLength: 64 })
const signedParams = Type.Object({ disk: diskName, '*': Type.String() })
const signedQuery = Type.Object({
  expires: Type.Integer({ minimum: 0, maximum: 8_640_000_000_000, description: 'Seconds since the epoch.' }),
  name: Type.Optional(Type.String({ maxLength: longestName, description: 'File name for the download.' })),
  grant: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]{1,64}:[A-Za-z0-9._-]{1,128}$',
      maxLength: 193,
      description: 'Who is asked whether the address still holds.',
    }),
  ),
  signature: Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength: 64 }),
})

export interface RouteParts {
  readonly http: HttpServer
  readonly plugin: string
  readonly storage: StorageService
  readonly signer: UrlSigner
  readonly publicMaxAgeMs: () => number
}

/** Files over HTTP: those of the disk `public` for everybody, all others by signed URL. */
export function addRoutes({ http, plugin, storage, signer, publicMaxAgeMs }: RouteParts): void {
  const sendPublic: RawRouteDeclaration['handler'] = async (request, reply) => {
    const path = (request.params as { '*': string })['*']
    const cacheControl = `public, max-age=${Math.floor(publicMaxAgeMs() / 1000)}`
    try {
      return await storage.send(request, reply, { disk: 'public', path, cacheControl })
    } catch (error) {
      if (!(error instanceof BusinessError)) throw error
      // A page asked for a picture: whatever kept it away, there is none.
      return reply.callNotFound()
    }
  }
  http.rawRoute(plugin, {
    method: 'GET',
    path: `${publicRoute}/*`,
    summary: 'A public file',
    access: 'public',
    produces: ['*/*'],
    hidden: true,
    plainFaults: true,
    handler: sendPublic,
  })

  http.rawRoute(plugin, {
    method: 'GET',
    path: `${signedRoute}/:disk/*`,
    summary: 'A private file, for whoever has a signed address of it',
    tags: ['storage'],
    access: 'public',
    produces: ['*/*'],
    request: { params: signedParams, query: signedQuery },
    async handler(request, reply) {
      const { disk, '*': path } = request.params as Static<typeof signedParams>
      const { expires, name, grant, signature } = request.query as Static<typeof signedQuery>
      await signer.verify({ disk, path, expires, name, grant }, signature)
      if (grant !== undefined) await storage.checkGrant(grant, { disk, path }, request)
      return storage.send(request, reply, { disk, path, ...(name === undefined ? {} : { name }) })
    },
  })
}
