import { routesWith, Type } from '@plinth/http'
import { isBusinessError, omitUndefined } from '@plinth/kernel'
import { maxNameLength, publicRoute, type StorageService, signedRoute } from './storage-service.ts'
import type { UrlSigner } from './url-signer.ts'

/** Name of a disk as a path parameter. */
export const diskName = Type.String({ pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$', maxLength: 64 })
const signedParams = Type.Object({ disk: diskName, '*': Type.String() })
const signedQuery = Type.Object({
  expires: Type.Integer({
    minimum: 0,
    maximum: 8_640_000_000_000,
    description: 'Expiry of the URL in seconds since the epoch.',
  }),
  name: Type.Optional(Type.String({ maxLength: maxNameLength, description: 'File name for the download.' })),
  grant: Type.Optional(
    Type.String({
      pattern: '^[a-z0-9-]{1,64}:[A-Za-z0-9._-]{1,128}$',
      maxLength: 193,
      description: 'Name of the guard that decides whether the URL is still valid.',
    }),
  ),
  signature: Type.String({ pattern: '^[A-Za-z0-9_-]*$', maxLength: 64 }),
})

/** Reasons of routes that read files. */
export const fileReasons = [
  'storage.disk-disabled',
  'storage.disk-unknown',
  'storage.file-unknown',
  'storage.path-invalid',
  'storage.path-outside',
  'storage.path-taken',
  'storage.signature-invalid',
  'storage.url-expired',
]

interface RouteDependencies {
  readonly storage: StorageService
  readonly signer: UrlSigner
  readonly publicMaxAgeMs: () => number
}

const { rawRoute } = routesWith<RouteDependencies>()

/** Routes that send files: public files to everyone, other files by signed URL. */
export const routes = [
  rawRoute({
    method: 'GET',
    path: `${publicRoute}/*`,
    compress: false,
    summary: 'Get a public file',
    access: 'public',
    produces: ['*/*'],
    request: { params: Type.Object({ '*': Type.String() }) },
    hidden: true,
    plainSchemaProblems: true,
    reasons: [],
    async handler(request, { storage, publicMaxAgeMs }, reply) {
      const path = request.params['*']
      if (storage.requiredGuard(path) !== undefined) return reply.callNotFound()
      const cacheControl = `public, max-age=${Math.floor(publicMaxAgeMs() / 1000)}`
      try {
        return await storage.send(request, reply, { disk: 'public', path, cacheControl })
      } catch (error) {
        if (!isBusinessError(error)) throw error
        // A page may embed the URL as an image, so each business error becomes "not found".
        return reply.callNotFound()
      }
    },
  }),
  rawRoute({
    method: 'GET',
    path: `${signedRoute}/:disk/*`,
    compress: false,
    summary: 'Download a private file by its signed URL',
    access: 'public',
    produces: ['*/*'],
    request: { params: signedParams, query: signedQuery },
    reasons: [...fileReasons, 'storage.url-revoked'],
    async handler(request, { storage, signer }, reply) {
      const { disk, '*': path } = request.params
      const { expires, name, grant, signature } = request.query
      await signer.verify({ disk, path, expires, name, grant }, signature)
      await storage.checkGrant(grant, { disk, path }, request)
      return storage.send(request, reply, omitUndefined({ disk, path, name }))
    },
  }),
]
