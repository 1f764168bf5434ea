import { errorTable } from '@plinth/kernel'

export const s3Error = errorTable({
  PLINTH_STORAGE_S3_REJECTED: `The S3 server rejected {{method}} for bucket "{{bucket}}": {{status}} {{code}}. {{message}}
    Check platform.storage-s3.bucket, the access key and its rights: s3:ListBucket, s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload, s3:ListBucketMultipartUploads.`,
  PLINTH_STORAGE_S3_REGION: `Bucket "{{bucket}}" is in region "{{actual}}", but platform.storage-s3.region is "{{region}}".
    Set platform.storage-s3.region to the region of the bucket.`,
  PLINTH_STORAGE_S3_ADDRESS: `The address of the S3 server may not be called. {{reason}}
    Correct platform.storage-s3.endpoint, or allow the host with platform.outgoing-http.allowed-hosts, and http with platform.outgoing-http.allow-http.`,
  PLINTH_STORAGE_S3_DAMAGED: `The content of an object in bucket "{{bucket}}" does not match its stored SHA-256 hash: {{key}}.
    Restore the object from a backup or from an older version of it.`,
})
