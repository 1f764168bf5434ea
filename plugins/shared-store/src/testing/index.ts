export * from './test-redis.ts'
