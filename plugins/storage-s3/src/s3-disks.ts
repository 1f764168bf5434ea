import type { Disk } from '@plinth/storage'
import type { S3Config } from './config.ts'
import { S3Client, type S3ClientDependencies } from './s3-client.ts'
import { S3Disk } from './s3-disk.ts'

export interface S3Dependencies extends Omit<S3ClientDependencies, 'settings'> {
  readonly config: S3Config
}

/** Creates a disk with the configured bucket. Loaded only if a bucket is configured. */
export function createS3Disk({ config, ...parts }: S3Dependencies, directory: string, visibility: Disk['visibility']) {
  const region = config.get('platform.storage-s3.region')
  const publicBucket = visibility === 'public' ? config.get('platform.storage-s3.public-bucket') : ''
  const settings = {
    endpoint: config.get('platform.storage-s3.endpoint') || `https://s3.${region}.amazonaws.com`,
    region,
    bucket: publicBucket || config.get('platform.storage-s3.bucket'),
    accessKeyId: config.get('platform.storage-s3.access-key-id'),
    secretAccessKey: config.get('platform.storage-s3.secret-access-key'),
    pathStyle: config.get('platform.storage-s3.path-style'),
    timeoutMs: config.get('platform.storage-s3.request-timeout'),
  }
  const diskSettings = {
    visibility,
    prefix: config.get('platform.storage-s3.prefix') + directory,
    checksum: config.get('platform.storage-s3.checksum'),
    unfinishedMs: config.get('platform.storage-s3.unfinished-upload-age'),
    presignsUrls: config.get('platform.storage-s3.presigned-urls'),
  }
  return new S3Disk(new S3Client({ ...parts, settings }), diskSettings, parts.clock)
}
