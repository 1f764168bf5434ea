import { line, rateLimited, routesWith, Type } from '@plinth/http'
import { permissionCodes } from './declarations.ts'
import { fileView, maxUploadBytes, uploadOperation } from './upload-contract.ts'
import type { UploadService } from './upload-service.ts'

const { route } = routesWith<{ readonly uploads: UploadService }>()

/** The plugin that identifies users sets `principal`. */
interface Caller {
  readonly principal?: { readonly userId: number } | undefined
  readonly clientIp: string
}

const userOf = ({ principal, clientIp }: Caller) => String(principal?.userId ?? clientIp)

export const uploadRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/admin/storage/uploads',
    operationId: uploadOperation,
    summary: 'Upload a file for a form',
    description:
      'Stores the file for one day. An operation whose body has a member for the file accepts the returned id, and copies the file to its place.',
    access: { permission: permissionCodes.upload, scope: 'none' },
    annotations: [rateLimited({ maxAttempts: 60, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })],
    // Base64 has four characters for three bytes.
    maxBodyBytes: Math.ceil(maxUploadBytes / 3) * 4 + 64 * 1024,
    request: {
      body: Type.Object({
        name: line(255, { minLength: 1, description: 'File name. Its extension determines the type of the file.' }),
        content: Type.String({
          minLength: 4,
          pattern: '^[A-Za-z0-9+/]+={0,2}$',
          description: `Content in Base64, at most ${maxUploadBytes} bytes.`,
        }),
      }),
    },
    response: fileView,
    // The address of the file contains a signature.
    compress: false,
    reasons: ['storage.disk-disabled', 'storage.file-too-large', 'storage.upload-quota', 'storage.upload-total-quota'],
    handler: (request, { uploads }) =>
      uploads.add(request.body.name, Buffer.from(request.body.content, 'base64'), userOf(request)),
  }),
]
