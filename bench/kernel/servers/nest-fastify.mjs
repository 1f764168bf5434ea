// This file is JavaScript and calls the decorators as functions, because Node.js does not support their syntax without
// a transform. An interceptor adds the envelope to the results of handlers, as is usual in NestJS products. With the
// argument `by-hand` each handler writes the envelope.
import 'reflect-metadata'
import { Body, Controller, Get, HttpCode, Module, Param, ParseIntPipe, Post, ValidationPipe } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { Type } from 'class-transformer'
import { ArrayMaxSize, IsArray, IsInt, IsString, Length, Matches, Max, Min, ValidateNested } from 'class-validator'
import { map } from 'rxjs'
import { announceServerUrl } from '../announce.ts'
import { articleOf, articlePath, orderOf, orderPath, successEnvelope } from '../exchange.ts'

const decorate = (target, property, type, ...decorators) => {
  Reflect.defineMetadata('design:type', type, target, property)
  for (const decorator of decorators.reverse()) decorator(target, property)
}

class Recipient {}
decorate(Recipient.prototype, 'name', String, IsString(), Length(1, 100))
decorate(Recipient.prototype, 'phone', String, IsString(), Matches(/^\+[0-9]{6,15}$/))

class OrderRequest {}
decorate(OrderRequest.prototype, 'sku', String, IsString(), Length(1, 32))
decorate(OrderRequest.prototype, 'quantity', Number, IsInt(), Min(1), Max(1000))
decorate(
  OrderRequest.prototype,
  'recipient',
  Recipient,
  ValidateNested(),
  Type(() => Recipient),
)
const each = { each: true }
decorate(OrderRequest.prototype, 'tags', Array, IsArray(), ArrayMaxSize(10), IsString(each), Length(1, 20, each))

const byHand = process.argv[2] === 'by-hand'
const response = byHand ? successEnvelope : (data) => data
const envelope = { intercept: (_context, next) => next.handle().pipe(map(successEnvelope)) }

class BenchController {
  article(id) {
    return response(articleOf(id))
  }

  order(body) {
    return response(orderOf(body))
  }
}

function route(name, parameterType, parameterDecorator, ...decorators) {
  const { prototype } = BenchController
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name)
  Reflect.defineMetadata('design:paramtypes', [parameterType], prototype, name)
  parameterDecorator(prototype, name, 0)
  for (const decorator of decorators) decorator(prototype, name, descriptor)
}
route('article', Number, Param('id', ParseIntPipe), Get(articlePath))
route('order', OrderRequest, Body(), Post(orderPath), HttpCode(200))
Controller()(BenchController)

class AppModule {}
Module({ controllers: [BenchController] })(AppModule)

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false })
app.useGlobalPipes(new ValidationPipe())
if (!byHand) app.useGlobalInterceptors(envelope)
await app.listen(0, '127.0.0.1')
announceServerUrl(await app.getUrl())
